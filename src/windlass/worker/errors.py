"""What a handler raises to say how its attempt ended."""

from windlass.model.errors import WindlassError


class ServiceError(WindlassError):
    """The work failed; the run's retry policy decides. The message travels as it is."""


class PermanentError(ServiceError):
    """The work failed and would fail again: no retry."""


class TemporaryError(ServiceError):
    """The work failed for now; the next try should wait at least `retry_after_s`."""

    def __init__(self, message: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ActionRefused(PermanentError):
    """The server will not have an action done: it needs an approval, or nobody knows the tool."""


class Cancelled(WindlassError):
    """The attempt should stop: somebody cancelled it, or its lease is gone."""
