"""Chains: a middleware's call for what comes after it, and the answer when that has ended."""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from windlass.kernel.events import NextRequested
from windlass.model.assignment import Called
from windlass.model.errors import Conflict, NotFound, StaleLease, Unavailable, WindlassError
from windlass.model.rows import Task, read_failure
from windlass.model.states import TASK_ENDED, TaskState
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import PAYLOAD_BYTES_MAX, encode
from windlass.protocol.link.server import Arrived
from windlass.server.link.held import Held, attempt_of

if TYPE_CHECKING:
    from windlass.server.link.plane import LinkPlane
    from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)


class Chains:
    """Answers the requests of all sessions. What was called for is in rows; only the waiting is
    here, and a worker that asks again after a crash is answered all the same."""

    def __init__(self, plane: "LinkPlane") -> None:
        self._plane = plane

    def asked(self, session: "LinkSession", arrived: Arrived, request: m.NextRequest) -> None:
        held = self._asking(session, arrived, request)
        if held is None:
            session.settle(arrived)
            self._answer(session, request, error=("next_unavailable", "not a task in your hands"))
            return
        session.spawn(self._call(session, held, arrived, request))

    def _asking(
        self, session: "LinkSession", arrived: Arrived, request: m.NextRequest
    ) -> Held | None:
        held = session.held.get(attempt_of(arrived.heard.envelope.corr or ""))
        if held is not None and held.run_id == request.run_id:
            return held
        return None

    async def _call(
        self, session: "LinkSession", held: Held, arrived: Arrived, request: m.NextRequest
    ) -> None:
        held.parked += 1
        session.ask()
        try:
            called = await self._commit(held.attempt_id, request)
            session.settle(arrived)
            async with asyncio.timeout((request.timeout_ms or 0) / 1000 or None):
                ended = await self._ended(called)
            self._answer_ended(session, request, ended)
        except TimeoutError:
            self._answer(session, request, error=("next_timeout", "it took too long"))
        except (Conflict, NotFound, StaleLease) as error:
            session.settle(arrived)
            self._answer(session, request, error=(_code(error), str(error)))
        except WindlassError as error:
            session.settle(arrived)
            self._answer(session, request, error=("next_failed", str(error)))
        except Exception:
            log.exception("%s: a call for the rest of a chain failed", session.worker_id)
            session.settle(arrived)
            self._answer(session, request, error=("next_failed", "the server could not call it"))
        finally:
            held.parked -= 1
            # It takes its slot again, so there is less to ask for.
            session.ask()

    async def _commit(self, attempt_id: str, request: m.NextRequest) -> Called:
        payload = msgspec.json.encode(request.payload).decode() if request.payload else None
        event = NextRequested(attempt_id, request.request_id, payload)
        while True:
            try:
                called: Called = await self._plane.engine.submit(event)
                return called
            except Unavailable as error:
                await asyncio.sleep(error.retry_after_s)

    async def _ended(self, called: Called) -> Called:
        """Wait until the task that was called for has ended."""
        engine = self._plane.engine
        if called.state in TASK_ENDED:
            return called
        while True:
            end = engine.feed.task_ends.expect(called.task_id)
            try:
                async with engine.store.session() as session:
                    rows = await session.rows(Task, [called.task_id])
                if rows and rows[0].state in TASK_ENDED:
                    return called_as(rows[0])
                # It may end in another process, so look now and then without being told.
                await asyncio.wait([end], timeout=engine.settings.look_s)
                ended = end.result() if end.done() else None
                if ended is not None:
                    return called_as(ended)
            finally:
                end.cancel()

    def _answer_ended(self, session: "LinkSession", request: m.NextRequest, ended: Called) -> None:
        if ended.state in (TaskState.SUCCEEDED, TaskState.SKIPPED):
            self._answer(session, request, result=ended.output or "{}")
            return
        failure = read_failure(ended.error)
        text = failure.message if failure is not None else f"it was {ended.state}"
        code = "next_cancelled" if ended.state is TaskState.CANCELLED else "next_failed"
        self._answer(session, request, error=(code, text))

    def _answer(
        self,
        session: "LinkSession",
        request: m.NextRequest,
        *,
        result: str | None = None,
        error: tuple[str, str] | None = None,
    ) -> None:
        response = m.NextResponse(
            request_id=request.request_id,
            run_id=request.run_id,
            node_id=request.node_id,
            middleware_id=request.middleware_id,
            result=None if result is None else msgspec.Raw(result.encode()),
            error=None if error is None else m.NextError(code=error[0], message=error[1]),
        )
        if len(encode(response)) > PAYLOAD_BYTES_MAX:
            response.result = None
            text = "what it returned does not fit into a frame; keep it as a resource"
            response.error = m.NextError(code="next_too_large", message=text)
        session.link.send(response, self._plane.clock(), corr=request.request_id)
        session.flush()


def called_as(task: Task) -> Called:
    return Called(task.id, task.state, task.output, task.error)


def _code(error: WindlassError) -> str:
    if isinstance(error, StaleLease):
        return "next_run_finalised"
    return "next_no_chain" if isinstance(error, Conflict) else "next_invalid_chain"
