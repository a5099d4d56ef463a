"""Runs handlers of installed packages: an invocation in, an outcome out, feedback in between."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from windlass.model.values import DEPTH_MAX, depth_of
from windlass.protocol.link import codes
from windlass.protocol.packages.errors import PackageError
from windlass.worker.adapters.desk import HostedDesk
from windlass.worker.adapters.environments import HostedEnv
from windlass.worker.adapters.hosted import (
    Hosted,
    Pending,
    ended,
    lost,
)
from windlass.worker.adapters.leasing import leased, normal_artifacts, refs_in
from windlass.worker.adapters.messages import Done, HandlerError, Lost, RunHandler
from windlass.worker.adapters.questions import shown
from windlass.worker.adapters.registry import AdapterRegistry, RunnablePackage
from windlass.worker.adapters.settings import HostSettings
from windlass.worker.context import Stop
from windlass.worker.resources.handles import Handle
from windlass.worker.resources.registry import ResourceMissing, Resources

log = logging.getLogger(__name__)

UNKNOWN = "E.CMD.UNKNOWN"


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a package's handler."""

    run_id: str
    task_id: str
    node_id: str
    node_type: str
    package: str
    version: str
    parameters: msgspec.Raw = msgspec.Raw(b"{}")
    tenant: str = "default"
    timeout_ms: int = 0
    """Counted from when the handler's host has the call; 0: no limit."""
    metadata: dict[str, Any] = {}
    resource_refs: list[dict[str, Any]] = []
    affinity: dict[str, Any] | None = None
    host_node_id: str | None = None
    middleware_chain: list[str] | None = None
    chain_index: int | None = None


class HandlerResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended; `result` is always a JSON object."""

    status: str
    result: msgspec.Raw = msgspec.Raw(b"{}")
    metadata: dict[str, Any] = {}
    artifacts: list[dict[str, Any]] = []
    error: HandlerError | None = None
    duration_ms: int = 0

    lost: bool = False
    """Its host is not there, for no fault of the call: it may well succeed elsewhere."""


class Hosts:
    """All hosts of a worker. Belongs to one event loop."""

    def __init__(
        self, registry: AdapterRegistry, resources: Resources, settings: HostSettings
    ) -> None:
        self.registry = registry
        self.resources = resources
        self._settings = settings
        self._hosted: dict[tuple[str, str], Hosted] = {}
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._gc = self._loop.create_task(self._collect())
        resources.on_evict = self._evicted

    @property
    def load(self) -> int:
        """How many calls are under way."""
        return sum(len(hosted.pending) for hosted in self._hosted.values())

    async def call(
        self,
        invocation: Invocation,
        *,
        feedback: Callable[[dict[str, Any]], None],
        next_: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] | None = None,
        env: HostedEnv | None = None,
        desk: HostedDesk | None = None,
    ) -> HandlerResult:
        """Run a handler to its end; cancelling this cancels the handler."""
        started = time.perf_counter()
        done = await self._ended(invocation, feedback, next_, env, desk)
        outcome = await self._outcome(invocation, done)
        duration_ms = round((time.perf_counter() - started) * 1000)
        return msgspec.structs.replace(outcome, duration_ms=duration_ms)

    async def stop(self, package: str, version: str) -> None:
        """End the host of a package version, which gets no new calls any more. Those in it have
        some time to end; after that they are lost."""
        hosted = self._hosted.get((package, version))
        if hosted is None:
            return
        await hosted.drained(self._settings.drain_s)
        self._hosted.pop((package, version), None)
        await hosted.close(f"{package}@{version} is being removed from this worker")

    async def close(self) -> None:
        """End every host."""
        self._closed = True
        self._gc.cancel()
        found = list(self._hosted.values())
        self._hosted.clear()
        await asyncio.gather(*(hosted.close("the worker is stopping") for hosted in found))

    def pid(self, package: str, version: str) -> int:
        """The process of a package version; 0 if none runs."""
        hosted = self._hosted.get((package, version))
        return hosted.pid if hosted is not None else 0

    async def _ended(
        self,
        invocation: Invocation,
        feedback: Callable[[dict[str, Any]], None],
        next_: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] | None,
        env: HostedEnv | None,
        desk: HostedDesk | None,
    ) -> Done:
        if self._closed:
            return lost("the worker is stopping")
        name, version = invocation.package, invocation.version
        runnable = self.registry.runnable(name, version)
        if runnable is None or self.registry.entry(name, version, invocation.node_type) is None:
            text = f'no handler "{invocation.node_type}" of {name}@{version} on this worker'
            return ended("FAILED", UNKNOWN, text)
        if depth_of(bytes(invocation.parameters)) > DEPTH_MAX:
            return ended(
                "FAILED", codes.RUNNER_FAILURE, f"the parameters are nested deeper than {DEPTH_MAX}"
            )
        try:
            wanted = [*invocation.resource_refs, *refs_in(invocation.parameters)]
            with leased(self.resources, wanted) as handles:
                call = _call(invocation, handles, env, desk, chained=next_ is not None)
                pending = Pending(invocation.run_id, invocation.task_id, feedback, next_, env, desk)
                return await self._run(runnable, pending, call, invocation.timeout_ms)
        except ResourceMissing as error:
            return ended("FAILED", error.code, str(error))
        except PackageError as error:
            return lost(str(error))  # its host does not come up

    async def _run(
        self, runnable: RunnablePackage, pending: Pending, call: RunHandler, timeout_ms: int
    ) -> Done:
        hosted = self._hosted.get(runnable.key)
        if hosted is None or hosted.runnable is not runnable:
            hosted = self._hosted[runnable.key] = Hosted(runnable, self._settings, self.resources)
        done = await hosted.run(pending, call, timeout_ms)
        if pending.stop is Stop.TIMEOUT and done.status == "CANCELLED":
            details = done.error.details if done.error is not None else None
            return ended(
                "FAILED", codes.TIMEOUT, f"the task ran out of its {timeout_ms} ms", details
            )
        return done

    async def _outcome(self, invocation: Invocation, done: Done) -> HandlerResult:
        artifacts = normal_artifacts(done.artifacts, self.resources.settings.worker_id)
        result = done.result
        if memoryview(result).nbytes > self.resources.settings.inline_limit_bytes:
            keep = self.resources.keep_result
            handle = await asyncio.to_thread(
                keep, invocation.run_id, invocation.task_id, bytes(result)
            )
            result = msgspec.Raw(msgspec.json.encode({"resourceRef": handle.ref()}))
            artifacts.append(handle.artifact(inline=False))
        return HandlerResult(
            status=done.status,
            result=result,
            metadata=done.metadata,
            artifacts=artifacts,
            error=_error_of(done),
            lost=isinstance(done, Lost),
        )

    def _evicted(self, handle: Handle) -> None:
        """An object must go from the memory of its host; any thread may say so."""
        for hosted in list(self._hosted.values()):
            if hosted.owner == handle.owner:
                self._loop.call_soon_threadsafe(hosted.evict, handle.resource_id)

    def _runs(self) -> set[str]:
        """Runs with a call in flight."""
        return {call.run_id for hosted in self._hosted.values() for call in hosted.pending}

    async def _collect(self) -> None:
        while True:
            await asyncio.sleep(self.resources.settings.gc_interval_s)
            try:
                await asyncio.to_thread(self.resources.gc)
                await asyncio.to_thread(self.resources.expire_runs, self._runs())
            except Exception:
                log.exception("resources could not be cleaned up; trying again later")


def _call(
    invocation: Invocation,
    handles: list[Handle],
    env: HostedEnv | None,
    desk: HostedDesk | None,
    *,
    chained: bool,
) -> RunHandler:
    metadata = invocation.metadata
    if invocation.affinity is not None:
        metadata = {**metadata, "affinity": invocation.affinity}
    return RunHandler(
        id=0,
        type=invocation.node_type,
        run_id=invocation.run_id,
        task_id=invocation.task_id,
        node_id=invocation.node_id,
        tenant=invocation.tenant,
        params=invocation.parameters,
        metadata=metadata,
        resource_refs=invocation.resource_refs,
        leased=[shown(handle) for handle in handles],
        host_node_id=invocation.host_node_id,
        middleware_chain=invocation.middleware_chain,
        chain_index=invocation.chain_index,
        next=chained,
        desk=desk is not None,
        env=env.told if env is not None else None,
    )


def _error_of(done: Done) -> HandlerError | None:
    """Whatever did not go well says why, even if its handler did not."""
    if done.error is not None or done.status in ("SUCCEEDED", "SKIPPED"):
        return done.error
    code = codes.RUNNER_CANCELLED if done.status == "CANCELLED" else codes.RUNNER_FAILURE
    return HandlerError(code=code, message=f"the handler reported {done.status} and no reason")
