"""The pace of long loops: what goes on for long leaves room for others."""

_PAUSES = ((10_000, 250), (1_000, 50), (100, 10))


def pause_ms(events: int) -> int:
    """How long a timer of a run with so many events behind it waits at least: a loop that goes on
    for long goes on at a pace that leaves room for others."""
    return next((pause for least, pause in _PAUSES if events > least), 0)
