"""Whether somebody runs the control plane: without one a run would start and never move."""

from windlass.engine.engine import Engine
from windlass.engine.loops.control import control_is_live
from windlass.model.errors import Unavailable

_REMEMBER_MS = 2_000


class ControlCheck:
    """Asks the database now and then; a process that is the control plane need not ask."""

    def __init__(self, engine: Engine, *, is_here: bool) -> None:
        self._engine = engine
        self._is_here = is_here
        self._seen_at = -_REMEMBER_MS

    async def check(self) -> None:
        now = self._engine.store.now()
        if self._is_here or now - self._seen_at < _REMEMBER_MS:
            return
        if not await control_is_live(self._engine):
            raise Unavailable("no control plane is running; start a server with --role control", 5)
        self._seen_at = now
