"""What executes a dispatch: plain services in this process, or handlers of installed packages."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from windlass.model.ids import number_of, task_of
from windlass.model.values import is_object
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.messages import SERVICES_PACKAGE
from windlass.worker.context import Context, Stop
from windlass.worker.desk import Desk
from windlass.worker.link.live_log import LiveLog
from windlass.worker.link.parameters import ReadParameters
from windlass.worker.outcome import Outcome
from windlass.worker.registry import Worker
from windlass.worker.runtime import Call, Runtime

SERVICES_VERSION = "0"

Feedback = Callable[[dict[str, Any]], None]
Next = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Executor(Protocol):
    """Runs the handlers of some packages."""

    def packages(self) -> list[m.PackageField]: ...

    def manifests(self) -> list[m.ManifestField]: ...

    def handles(self, dispatch: m.Dispatch) -> bool: ...

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        """The result of one dispatch, or `NotHere`; cancelling the call stops the handler. Its time
        counts from when the handler begins."""
        ...

    async def close(self) -> None: ...


class ServiceExecutor:
    """Services of a `Worker`, under the package name plain services have on the wire."""

    def __init__(
        self,
        worker: Worker,
        concurrency: int,
        read_parameters: ReadParameters,
        desk: Desk | None = None,
    ) -> None:
        self._worker = worker
        self._desk = desk
        self._read_parameters = read_parameters
        self._runtime = Runtime(worker, concurrency)

    def packages(self) -> list[m.PackageField]:
        field = m.PackageField(name=SERVICES_PACKAGE, version=SERVICES_VERSION, status="installed")
        return [field] if self._worker.services else []

    def manifests(self) -> list[m.ManifestField]:
        nodes = [{"type": name} for name in sorted(self._worker.services)]
        manifest = {"name": SERVICES_PACKAGE, "version": SERVICES_VERSION, "nodes": nodes}
        field = m.ManifestField(name=SERVICES_PACKAGE, version=SERVICES_VERSION, manifest=manifest)
        return [field] if self._worker.services else []

    def handles(self, dispatch: m.Dispatch) -> bool:
        return (
            dispatch.package_name == SERVICES_PACKAGE
            and dispatch.node_type in self._worker.services
        )

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        given: Any = msgspec.json.decode(await self._read_parameters(dispatch))
        params = given.get("params") if is_object(given) else None
        context = Context(
            attempt_id=dispatch.task_id,
            run_id=dispatch.run_id,
            task_id=task_of(dispatch.task_id),
            node=dispatch.node_id,
            number=number_of(dispatch.task_id),
            params=params if is_object(params) else {},
            desk=self._desk if token_of(dispatch) else None,
            token=token_of(dispatch),
            env=told_env(dispatch),
        )
        call = Call(
            dispatch.node_type,
            context,
            given.get("input") if is_object(given) else None,
            dispatch.constraints.timeout_ms or 0,
        )
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def done(_: Call, outcome: Outcome) -> None:
            if not ended.done():
                ended.set_result(outcome)

        live = LiveLog(context, feedback)
        self._runtime.start(call, done)
        try:
            outcome = await asyncio.shield(ended)
        except asyncio.CancelledError:
            context.stop(Stop.CANCELLED)
            raise
        finally:
            live.close()
        result = result_of(dispatch, outcome)
        if context.usage:
            result.metadata = {**(result.metadata or {}), "usage": context.usage}
        return result

    async def close(self) -> None:
        self._runtime.close()


def token_of(dispatch: m.Dispatch) -> str:
    """What lets an attempt tell the server more than its result; "" from a server that knows
    nothing of that."""
    return dispatch.token or (dispatch.env.token if dispatch.env is not None else "")


def told_env(dispatch: m.Dispatch) -> dict[str, Any] | None:
    """What a dispatch says of its environment, but for what opens it."""
    if dispatch.env is None:
        return None
    told: dict[str, Any] = msgspec.to_builtins(dispatch.env)
    return {name: value for name, value in told.items() if name != "token"}


_CODES = {"timeout": codes.TIMEOUT, "fatal": codes.INVALID}


def result_of(dispatch: m.Dispatch, outcome: Outcome) -> m.Result:
    result = m.Result(
        run_id=dispatch.run_id,
        task_id=dispatch.task_id,
        status="SUCCEEDED",
        result=outcome.output if outcome.output is not None else msgspec.Raw(b"{}"),
    )
    fault = outcome.fault
    if fault is not None:
        result.status = "CANCELLED" if fault.kind == "cancelled" else "FAILED"
        code = _CODES.get(fault.kind, codes.RUNNER_FAILURE)
        result.error = m.ErrorField(code=code, message=fault.message)
        if fault.retry_after_ms is not None:
            # An error on the wire has no room for it.
            result.metadata = {"retry_after_ms": fault.retry_after_ms}
    return result
