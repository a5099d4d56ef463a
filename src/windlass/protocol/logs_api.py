"""What attempts said while they ran, as the native API shows it."""

from windlass.protocol.exchange import Wire


class LogView(Wire, frozen=True, kw_only=True):
    """A piece of what an attempt said."""

    number: int
    at: int
    channel: str
    text: str
