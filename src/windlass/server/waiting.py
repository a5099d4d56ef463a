"""Long polls: waiting for work as long as the caller does, and no longer than the server lives."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request

from windlass.engine.attempts import Attempts
from windlass.model.assignment import Assignment
from windlass.ports.work import Waiting


async def wait_for_work(
    request: Request, attempts: Attempts, waiting: Waiting, wait_s: float
) -> Sequence[Assignment]:
    """What the demand is given within the time, taken back if the caller has hung up meanwhile."""
    given = asyncio.ensure_future(waiting.assignments())
    others = [
        asyncio.ensure_future(hung_up(request)),
        asyncio.ensure_future(request.app.state.stopping.wait()),
    ]
    gone = others[0]
    try:
        if not given.done():
            await asyncio.wait([given, *others], timeout=wait_s, return_when="FIRST_COMPLETED")
    finally:
        found = list(given.result()) if given.done() and not given.cancelled() else []
        given.cancel()
        found = found or waiting.withdraw()
        lost = gone.done() and not gone.cancelled()
        for other in others:
            other.cancel()
        if lost or ((task := asyncio.current_task()) is not None and task.cancelling()):
            for assignment in found:
                attempts.give_back(assignment.attempt_id)
            found = []
    return found


async def hung_up(request: Request) -> None:
    """Return once the caller has closed the connection; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
