"""Whose attempts a caller may speak of: a token bound to a worker, of that worker's alone.

Whoever the work was given to also has the attempt's own token; that one alone is not enough, since
it travels with the work. An attempt belongs to one worker for good: another try is another attempt.
"""

from collections.abc import Iterable

from starlette.requests import Request

from windlass.model.errors import Denied
from windlass.model.rows import Attempt
from windlass.server.caller import who
from windlass.server.context import context_of


async def others_attempts(request: Request, attempt_ids: Iterable[str]) -> frozenset[str]:
    """Those of some attempts that the caller may not speak of, or that are not there."""
    caller, wanted = who(request), frozenset(attempt_ids)
    if not caller.workers or not wanted:
        return frozenset()
    async with context_of(request).engine.store.session() as session:
        rows = await session.rows(Attempt, sorted(wanted))
    return wanted - {row.id for row in rows if caller.acts_for(row.worker_id)}


async def check_own(request: Request, attempt_id: str) -> None:
    """`Denied` for another worker's attempt; of one that is not there it hears the same."""
    if await others_attempts(request, [attempt_id]):
        raise Denied(f'"{attempt_id}" is no attempt of this token\'s worker')
