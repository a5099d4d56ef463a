"""What attempts said, as the native API shows it."""

from windlass.protocol.exchange import Wire


class LogView(Wire, frozen=True, kw_only=True):
    """What an attempt said: a record, or a line of which nothing is known."""

    at: int
    """When it was said, as exactly as that is known: what came only with the attempt's result has
    the time at which the attempt ended."""
    level: str | None
    """`debug`, `info`, `warning`, `error` or `critical`, if the worker said so."""
    guess: str | None
    """What a text without a level reads like: `warning`, `error`, or neither."""
    task: str
    """The task's id."""
    attempt: int
    """The attempt's number."""
    channel: str
    text: str


class LogPage(Wire, frozen=True, kw_only=True):
    """A page of a run's logs, oldest first."""

    items: list[LogView]
    next: str | None = None
    """The cursor of the page after; None at the end."""
    position: str | None = None
    """The cursor for what comes later, to go on from once `next` is None; not where pages are read
    backwards and this is not the first."""
