"""What may come instead of a result: no server, a bad end of the run, or none yet."""

from windlass.client.shapes import RunInfo
from windlass.model.errors import Unavailable, WindlassError
from windlass.model.ids import as_written


class Unreachable(Unavailable):
    """Nobody answers at the server's address."""


class RunEnded(WindlassError):
    """Base: the run ended, but not well; `run` tells all about it."""

    def __init__(self, run: RunInfo, message: str) -> None:
        super().__init__(message)
        self.run = run


class RunFailed(RunEnded):
    def __init__(self, run: RunInfo) -> None:
        error = run.error
        where = f" at {as_written(error.node)}" if error is not None and error.node else ""
        why = f": {error.message}" if error is not None else ""
        super().__init__(run, f"run {run.id} failed{where}{why}")


class RunCancelled(RunEnded):
    def __init__(self, run: RunInfo) -> None:
        super().__init__(run, f"run {run.id} was cancelled")


class WaitTimeout(WindlassError):
    """The run had not ended when the caller's patience had."""

    def __init__(self, run_id: str, state: str) -> None:
        super().__init__(
            f"run {run_id} is still {state}; wait longer, or ask `windlass why {run_id}`"
        )
