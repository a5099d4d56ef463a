"""A simulated host that runs the real link worker against the real link of a server."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from windlass.model.rows import Failure
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation
from windlass.protocol.link.worker import WorkerLink
from windlass.testing.simulator.asgi import Lines
from windlass.testing.simulator.flows import PULL
from windlass.testing.simulator.handlers import Handlers
from windlass.testing.simulator.host import WorkerHost
from windlass.testing.simulator.server import EPOCH_S
from windlass.testing.simulator.workflows import PACKAGE, TYPES, VERSION
from windlass.worker.link.executor import SERVICES_VERSION, Feedback, Next
from windlass.worker.link.runner import LinkRunner
from windlass.worker.link.serve import handshake_of, register_of
from windlass.worker.link.settings import LinkSettings
from windlass.worker.link.socket import Closed, Socket
from windlass.worker.link.tasks import Tasks

_DRAIN_S = 5.0
_KINDS = {"fatal": codes.INVALID, "failed": codes.RUNNER_FAILURE}


class SimulatedExecutor:
    """Services of the simulated world, under the name plain services have on the wire."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def packages(self) -> list[m.PackageField]:
        return [
            m.PackageField(name=name, version=version, status="installed")
            for name, version in ((m.SERVICES_PACKAGE, SERVICES_VERSION), (PACKAGE, VERSION))
        ]

    def manifests(self) -> list[m.ManifestField]:
        plain: dict[str, Any] = {"nodes": [{"type": service} for service in PULL]}
        # What is in the other package it leaves to the server to find out.
        return [m.ManifestField(name=m.SERVICES_PACKAGE, version=SERVICES_VERSION, manifest=plain)]

    def handles(self, dispatch: m.Dispatch) -> bool:
        return dispatch.node_type in (*PULL, *TYPES)

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        outcome = await self._handlers.perform(dispatch.task_id)
        result = m.Result(
            run_id=dispatch.run_id,
            task_id=dispatch.task_id,
            status="SUCCEEDED",
            result=msgspec.Raw(b"{}"),
        )
        if isinstance(outcome, Failure):
            result.status = "FAILED"
            code = _KINDS.get(outcome.kind, codes.RUNNER_FAILURE)
            result.error = m.ErrorField(code=code, message=outcome.message)
        else:
            result.result = msgspec.Raw(outcome.encode())
        return result

    async def close(self) -> None:
        """There is nothing to close."""


class Quiet:
    """Neither packages nor a machine to measure."""

    async def install(self, command: m.PkgInstall) -> m.PkgEvent:
        return m.PkgEvent(name=command.name, version=command.version, status="failed")

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]:
        return []

    async def release(self, scope: str) -> None:
        """Nothing is kept."""

    def metrics(self, inflight: int, held: list[str]) -> dict[str, Any]:
        return {"inflight": inflight, "held": held}


class LinkWorker(WorkerHost):
    """The real link worker; a new life is a new instance."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._executor = SimulatedExecutor(self.handlers)
        self._rng = self.plan.rng(f"link:{self.name}")
        self._lines = Lines(self.network, self.loop)
        self._settings = LinkSettings(
            url="",
            worker_id=self.name,
            max_parallel=self._rng.randint(1, 4),
            heartbeat_s=self._rng.choice((0.5, 2.0)),
            heartbeat_jitter_s=0.2,
            reconnect_first_s=0.2,
            reconnect_most_s=2.0,
        )

    async def live(self) -> None:
        settings = self._settings
        runners: list[LinkRunner] = []
        tasks = Tasks(
            [self._executor],
            settings.max_parallel,
            settings.per_node_limits,
            lambda result: runners[0].report(result),
            lambda dispatch, code, text, where: runners[0].refuse(dispatch, code, text, where),
            self.loop.time,
        )
        link = WorkerLink(
            Generation.SECOND,
            settings.tenant,
            handshake_of(settings),
            lambda: register_of(settings, [self._executor]),
        )
        quiet = Quiet()
        runner = LinkRunner(
            settings,
            link,
            tasks,
            quiet,
            quiet,
            self._dial,
            clock=lambda: EPOCH_S + self.loop.time(),
            random_=self._rng,
        )
        runners.append(runner)
        await runner.run(_DRAIN_S)

    def _dial(self) -> AbstractAsyncContextManager[Socket]:
        server = self._rng.choice(self.servers)
        if server.process is None:
            raise Closed(f"{server.name} is down")
        return self._lines.dial(self.name, self.process, server.name, server.app, server.process)
