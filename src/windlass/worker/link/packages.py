"""Packages on the link: commands to install and uninstall, and the handlers that are here."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import PAYLOAD_BYTES_MAX, Generation
from windlass.protocol.packages.errors import PackageError
from windlass.protocol.packages.signature import Trust
from windlass.worker.adapters.desk import HostedDesk
from windlass.worker.adapters.environments import HostedEnv
from windlass.worker.adapters.hosts import Hosts, Invocation
from windlass.worker.adapters.registry import AdapterRegistry
from windlass.worker.adapters.settings import HostSettings
from windlass.worker.desk import Desk
from windlass.worker.envs import Env
from windlass.worker.link.errors import NotHere
from windlass.worker.link.executor import Feedback, Next, token_of, told_env
from windlass.worker.link.fit import said
from windlass.worker.link.parameters import parameters_reader
from windlass.worker.link.results import result_of, trace_of
from windlass.worker.link.settings import LinkSettings
from windlass.worker.packages.manager import PackageManager
from windlass.worker.packages.settings import PackageSettings
from windlass.worker.resources.registry import Resources
from windlass.worker.resources.settings import resource_settings

log = logging.getLogger(__name__)

_AROUND_RESULT = 64 * 1024
"""Room for what a result frame says beside the result."""


class Packages:
    """The installed packages of one worker, as commands and as an executor. Belongs to one loop."""

    def __init__(self, settings: LinkSettings, desk: Desk | None = None) -> None:
        data = settings.data_dir.absolute()
        data.mkdir(parents=True, exist_ok=True)
        self._settings = settings
        self._desk = desk
        self._in_places = ThreadPoolExecutor(settings.max_parallel, thread_name_prefix="env")
        self._read_parameters = parameters_reader(settings)
        self.registry = AdapterRegistry()
        limits = resource_settings(data, settings.worker_id)
        # Whatever the setting says, an inline result must fit into a frame.
        inline = min(limits.inline_limit_bytes, PAYLOAD_BYTES_MAX - _AROUND_RESULT)
        limits = msgspec.structs.replace(limits, inline_limit_bytes=inline)
        self.resources = Resources(limits)
        host = HostSettings(data_dir=data, environment=settings.handler_environment)
        self.hosts = Hosts(self.registry, self.resources, host)
        self.manager = PackageManager(package_settings_of(settings), self.registry, self.hosts.stop)

    # Commands

    async def install(self, command: m.PkgInstall) -> m.PkgEvent:
        try:
            url = command.url or self._published(command)
            await self.manager.install(command.name, command.version, url, command.sha256 or "")
        except PackageError as error:
            log.warning("%s@%s is not installed: %s", command.name, command.version, error)
            return _event(command, "failed", "install", str(error), code=error.code)
        return _event(command, "installed", "install", "install-complete")

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]:
        """Remove a version, or each there is; every one that goes or stays is told of."""
        if command.version is not None:
            return [await self._uninstalled(command.name, command.version)]
        here = self.manager.versions(command.name)
        return [await self._uninstalled(command.name, version) for version in here or ("*",)]

    async def _uninstalled(self, name: str, version: str) -> m.PkgEvent:
        gone = m.PkgInstall(name=name, version=version)
        try:
            await self.manager.uninstall(name, version)
        except (PackageError, OSError) as error:
            log.warning("%s@%s is not removed: %s", name, version, error)
            code = error.code if isinstance(error, PackageError) else codes.INTERNAL
            return _event(gone, "failed", "uninstall", str(error), code=code)
        return _event(gone, "installed", "uninstall", "uninstall-complete")

    def _published(self, command: m.PkgInstall) -> str:
        """Where our server keeps a version that was published to it."""
        at = f"{self._settings.server}/api/v1/published-packages/{quote(command.name, safe='')}"
        return f"{at}/archive?version={quote(command.version, safe='')}"

    async def release(self, scope: str) -> None:
        """Let go of what a run or session left behind; that may be a lot of files."""
        await asyncio.to_thread(self.resources.release_scope, scope)

    def stats(self) -> dict[str, Any]:
        return cast("dict[str, Any]", msgspec.to_builtins(self.resources.stats()))

    # Executing

    def packages(self) -> list[m.PackageField]:
        return [
            m.PackageField(name=line.name, version=line.version, status=line.status)
            for line in self.manager.inventory()
        ]

    def manifests(self) -> list[m.ManifestField]:
        return [
            m.ManifestField(name=line.name, version=line.version, manifest=line.manifest)
            for line in self.manager.inventory()
            if line.status == "installed"
        ]

    def handles(self, dispatch: m.Dispatch) -> bool:
        name, version = dispatch.package_name, dispatch.package_version
        return self.registry.entry(name, version, dispatch.node_type) is not None

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        constraints = msgspec.to_builtins(dispatch.constraints)
        invocation = Invocation(
            run_id=dispatch.run_id,
            task_id=dispatch.task_id,
            node_id=dispatch.node_id,
            node_type=dispatch.node_type,
            package=dispatch.package_name,
            version=dispatch.package_version,
            parameters=await self._read_parameters(dispatch),
            tenant=self._settings.tenant,
            timeout_ms=dispatch.constraints.timeout_ms or 0,
            metadata={"concurrency_key": dispatch.concurrency_key, "constraints": constraints},
            resource_refs=[msgspec.to_builtins(ref) for ref in dispatch.resource_refs or ()],
            affinity=None if dispatch.affinity is None else msgspec.to_builtins(dispatch.affinity),
            host_node_id=dispatch.host_node_id,
            middleware_chain=dispatch.middleware_chain,
            chain_index=dispatch.chain_index,
        )
        # The first generation has no frame for the rest of a chain.
        second = self._settings.generation == Generation.SECOND
        chained = second and dispatch.middleware_chain is not None
        outcome = await self.hosts.call(
            invocation,
            feedback=feedback,
            next_=next_ if chained else None,
            env=self._env_of(dispatch),
            desk=self._desk_of(dispatch),
        )
        if outcome.lost:
            raise NotHere(outcome.error.message if outcome.error is not None else "")
        for artifact in outcome.artifacts:
            self.resources.outlive(str(artifact.get("resource_id", "")))
        trace = trace_of(outcome)
        if trace:
            feedback({"chunks": [{"channel": "log", "text": trace}]})
        return result_of(dispatch, outcome, Generation(self._settings.generation))

    def _env_of(self, dispatch: m.Dispatch) -> HostedEnv | None:
        told = told_env(dispatch)
        if dispatch.env is None or told is None or self._desk is None:
            return None
        env = Env(self._desk, dispatch.task_id, dispatch.env.token, told)
        return HostedEnv(env, self._in_places)

    def _desk_of(self, dispatch: m.Dispatch) -> HostedDesk | None:
        token = token_of(dispatch)
        if not token or self._desk is None:
            return None
        return HostedDesk(self._desk, dispatch.task_id, token, self._in_places)

    async def close(self) -> None:
        self._in_places.shutdown(wait=False, cancel_futures=True)
        await self.hosts.close()
        self.resources.close()


def _event(
    command: m.PkgInstall, status: str, operation: str, text: str, **more: str
) -> m.PkgEvent:
    return m.PkgEvent(
        name=command.name,
        version=command.version,
        status=status,
        details={"operation": operation, "message": said(text), **more},
    )


def package_settings_of(settings: LinkSettings) -> PackageSettings:
    return PackageSettings(
        root=Path(settings.packages_dir).absolute(),
        server=settings.server,
        token=settings.token,
        tls=settings.ssl_context(),
        trust=Trust(required=settings.require_signature, keys=tuple(settings.trusted_keys)),
        hooks=tuple(settings.allowed_hooks),
        site_packages=settings.site_packages,
    )
