"""How long to pause before another try."""

from hashlib import blake2b

from windlass.model.graph import Retry


def pause_ms(retry: Retry, failures: int, seed: str) -> int:
    """The pause after the given number of failures.

    Jitter is drawn from the attempt's id rather than a random source, so that deciding the same
    event again gives the same pause.
    """
    pause = retry.wait_ms * retry.factor ** max(0, failures - 1)
    if retry.wait_ms_max:
        pause = min(pause, retry.wait_ms_max)
    if retry.jitter and pause:
        digest = blake2b(seed.encode(), digest_size=4).digest()
        pause *= 1 - retry.jitter * int.from_bytes(digest) / 0x1_0000_0000
    return int(min(pause, 1e12))
