"""How often somebody may try something in vain before having to wait."""

from collections import OrderedDict

from windlass.server.http import TooMany

_KEYS_MAX = 10_000
_KEY_CHARS_MAX = 300


class Tries:
    """Counts tries by key within a window; a success forgives them."""

    def __init__(self, most: int, window_s: float = 60.0) -> None:
        self._most = most
        self._window_ms = int(window_s * 1000)
        self._began: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def take(self, key: str, now: int) -> None:
        """Count one more try, or `TooMany` with the time to wait."""
        key = key[:_KEY_CHARS_MAX]  # it holds what a stranger typed
        since, count = self._began.pop(key, (now, 0))
        if now - since >= self._window_ms:
            since, count = now, 0
        self._began[key] = (since, count + 1)
        while len(self._began) > _KEYS_MAX:
            self._began.popitem(last=False)
        if count >= self._most:
            wait_s = max(1.0, (since + self._window_ms - now) / 1000)
            raise TooMany(f"too many tries; wait {wait_s:.0f} s", wait_s)

    def give_back(self, key: str) -> None:
        """A try that was none after all."""
        key = key[:_KEY_CHARS_MAX]
        known = self._began.get(key)
        if known is not None:
            self._began[key] = (known[0], max(0, known[1] - 1))

    def forgive(self, key: str) -> None:
        self._began.pop(key[:_KEY_CHARS_MAX], None)
