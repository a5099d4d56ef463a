"""Services as local executions: the same handlers a worker hosts, without a worker process."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from windlass.drivers.dispatch.runner import AttemptError, Done, Execute
from windlass.engine import blackboard, ledger
from windlass.engine.engine import Engine
from windlass.engine.envs.places import Places
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest
from windlass.model.ids import run_of
from windlass.model.rows import Failure
from windlass.protocol.blackboard import BoardRead, BoardView, BoardWrite, board_view
from windlass.protocol.envs import (
    EnvContent,
    EnvDoor,
    EnvExec,
    EnvExecuted,
    EnvMark,
    EnvRead,
    EnvSnapshotView,
    EnvWrite,
    snapshot_view,
)
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.worker import outcome
from windlass.worker.answers import Asked, brief_in
from windlass.worker.context import Context
from windlass.worker.envs import HearBytes
from windlass.worker.registry import Service, Worker

T = TypeVar("T")


class EngineDesk:
    """The desk of services that run beside their engine, in threads or on its loop."""

    server = ""
    """It has no address: it is this process."""

    def __init__(
        self, engine: Engine, loop: asyncio.AbstractEventLoop, places: Places | None = None
    ) -> None:
        self._engine = engine
        self._loop = loop
        self._places = places

    def begin(self, start: ActionStart) -> None:
        self._wait_for(
            ledger.begin(
                self._engine,
                start.attempt_id,
                start.call_id,
                start.tool,
                start.effect,
                input=start.input,
                summary=start.summary,
                token=start.approval_token,
            )
        )

    def end(self, end: ActionEnd) -> None:
        self._wait_for(
            ledger.end(
                self._engine,
                end.attempt_id,
                end.call_id,
                end.state,
                output=end.output,
                error=end.error,
                summary=end.summary,
            )
        )

    def write(self, write: BoardWrite) -> int:
        engine, attempt, seen = self._engine, write.attempt_id, write.expected
        if write.delete:
            return self._wait_for(blackboard.remove(engine, attempt, write.key, seen))
        return self._wait_for(blackboard.write(engine, attempt, write.key, write.payload, seen))

    def read(self, read: BoardRead) -> list[BoardView]:
        run_id = run_of(read.attempt_id)
        asked = blackboard.found(self._engine, run_id, read.key, read.prefix, read.revision)
        return [board_view(row) for row in self._wait_for(asked)]

    def execute(self, call: EnvExec, hear: HearBytes | None = None) -> EnvExecuted:
        async def pass_on(stream: str, data: bytes) -> None:
            if hear is not None:
                await asyncio.to_thread(hear, stream, data)

        done = self._wait_for(self._rooms.execute(call, pass_on if hear else None))
        return EnvExecuted(**msgspec.structs.asdict(done))

    def fetch(self, read: EnvRead) -> EnvContent:
        return EnvContent(data=self._wait_for(self._rooms.read(read)))

    def put(self, write: EnvWrite) -> None:
        self._wait_for(self._rooms.write(write))

    def photograph(self, mark: EnvMark) -> EnvSnapshotView:
        return snapshot_view(self._wait_for(self._rooms.photograph(mark)))

    def door(self, mark: EnvMark) -> EnvDoor:
        raise BadRequest("a browser's page needs a pull or push worker")

    @property
    def _rooms(self) -> Places:
        if self._places is None:
            raise BadRequest("there are no environments here")
        return self._places

    def _wait_for(self, told: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(told, self._loop).result()


def executions(
    worker: Worker,
    *transports: str,
    engine: Engine | None = None,
    places: Places | None = None,
) -> dict[str, Execute]:
    """Every service of a worker, by the queues of these transports."""
    return {
        f"{transport}:{name}": execution(service, engine, places)
        for name, service in worker.services.items()
        for transport in transports
    }


def execution(
    service: Service, engine: Engine | None = None, places: Places | None = None
) -> Execute:
    async def execute(assignment: Assignment) -> Done:
        params, loop = msgspec.json.decode(assignment.params), asyncio.get_running_loop()
        context = Context(
            run_id=assignment.run_id,
            task_id=assignment.task_id,
            attempt_id=assignment.attempt_id,
            number=assignment.number,
            node=assignment.node,
            params=params,
            role=str(assignment.role),
            feedback=msgspec.json.decode(assignment.feedback) if assignment.feedback else (),
            desk=None if engine is None else EngineDesk(engine, loop, places),
            env=msgspec.json.decode(assignment.env) if assignment.env else None,
        )
        try:
            given = msgspec.json.decode(assignment.input)
            context.brief = brief_in(given)
            positional, named = service.binder.arguments(context, given, params)
            if service.is_async:
                value = await service.handler(*positional, **named)
            else:
                value = await asyncio.to_thread(service.handler, *positional, **named)
        except (Exception, Asked) as error:  # noqa: BLE001  whatever it raises is its outcome
            ended = outcome.failed(error, context)
        else:
            ended = outcome.returned(value, context)
        if ended.fault is not None:
            fault = ended.fault
            failure = Failure(fault.kind, fault.message, retry_after_ms=fault.retry_after_ms)
            raise AttemptError(failure, context.log_text, context.usage, context.marks)
        assert ended.output is not None
        output = bytes(ended.output).decode()
        return Done(output, context.log_text, context.usage, context.marks)

    return execute
