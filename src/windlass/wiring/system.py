"""A running system: store, engine, loops, dispatchers and the web application, started and stopped
in order.
"""

import contextlib
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from starlette.applications import Starlette

from windlass.drivers.dispatch.builtins import BUILTINS
from windlass.drivers.dispatch.pod_launcher import WORKER
from windlass.drivers.dispatch.pod_sync import PodSync
from windlass.drivers.dispatch.push import PushDispatcher
from windlass.drivers.dispatch.runner import Execute, Runner
from windlass.drivers.dispatch.script import run_script
from windlass.engine import workers
from windlass.engine.attempts import Attempts
from windlass.engine.board_copies import BoardCopier
from windlass.engine.bulk import BulkWorker
from windlass.engine.engine import Engine, Settings
from windlass.engine.envs.follow import EnvOutbox, Follower
from windlass.engine.envs.hosts import Hosts
from windlass.engine.envs.images import ImageMaker
from windlass.engine.envs.places import Places
from windlass.engine.envs.sweep import Sweep
from windlass.engine.loops.control import Control
from windlass.engine.loops.expiry import Expiry
from windlass.engine.loops.facts import FactIntake, state_kept
from windlass.engine.loops.forever import Loop, restarted, run_forever
from windlass.engine.loops.leases import Leases
from windlass.engine.loops.limits import LimitWakes
from windlass.engine.loops.notices import NoticeListener
from windlass.engine.loops.orphans import OrphanedTasks
from windlass.engine.loops.outbox import Handler, Outbox
from windlass.engine.loops.pruning import Pruning
from windlass.engine.loops.timers import Timers
from windlass.engine.loops.unserved import UnservedCalls
from windlass.engine.publishing import Publisher
from windlass.engine.why import LAUNCHES
from windlass.kernel.bounds import Limits
from windlass.model.bulk import BULK
from windlass.model.effects import FACT, RELEASE
from windlass.model.envs import IMAGE
from windlass.model.ledger import read_policy
from windlass.model.rows import Worker
from windlass.ports.board import Board
from windlass.ports.bus import Bus
from windlass.ports.facts import FactSource
from windlass.ports.store import Store
from windlass.protocol.packages.signature import Trust
from windlass.server.app import AppOptions, create_app
from windlass.server.commands import COMMAND, Commands
from windlass.server.link.duties import LinkChecks, LinkLeases, LinkTokens
from windlass.server.link.plane import LinkPlane, LinkSettings
from windlass.server.push_urls import LOOPBACK
from windlass.server.said import keep_log
from windlass.wiring.bus import open_board, open_bus
from windlass.wiring.env_host import Offers, address_of
from windlass.wiring.envs import add_own
from windlass.wiring.facts import nats_facts, redis_facts
from windlass.wiring.functions import executions
from windlass.wiring.options import ServerOptions
from windlass.wiring.pods import launches, make_launcher
from windlass.wiring.stores import open_blobs, open_store
from windlass.worker import builtin

_STOP_S = 15.0
_LOCAL_SLOTS = 256
_SCRIPT_SLOTS = 4


class Group:
    """Background work in one task group, ended one by one in the reverse of its order."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._started: list[tuple[anyio.CancelScope, anyio.Event]] = []

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        scope, ended = anyio.CancelScope(), anyio.Event()
        self._started.append((scope, ended))

        async def run() -> None:
            try:
                with scope:
                    await work()
            finally:
                ended.set()

        self._group.start_soon(run, name=name)

    async def stop(self) -> None:
        for scope, ended in reversed(self._started):
            scope.cancel()
            await ended.wait()
        self._group.cancel_scope.cancel()


def settings_of(options: ServerOptions) -> Settings:
    read_policy(options.tool_effects)  # what is wrong with it is said before anything starts
    return Settings(
        lease_s=options.lease_s,
        strict_workflows=options.strict_workflows,
        no_worker_s=options.no_worker_s,
        retries_per_minute=options.retry_budget_per_minute,
        retries_at_once=options.retry_budget_concurrent,
        image_trip_after=options.image_trip_after,
        image_reset_s=options.image_reset_s,
        tool_effects=options.tool_effects,
        worker_kept_s=options.worker_kept_days * 86_400,
        manifest_kept_s=options.worker_kept_days * 86_400,
        limits=Limits(env_lease_ms=int(options.env_lease_s * 1000)),
    )


class System:
    """Everything a process runs."""

    _duties: Group

    def __init__(self, store: Store, options: ServerOptions) -> None:
        self.options = options
        self.store = store
        self.engine = Engine(store, settings_of(options))
        self.attempts = Attempts(self.engine)
        self.link = LinkPlane(self.engine, self.attempts, LinkSettings(tenant=options.link_tenant))
        self.commands = Commands(self.engine, self.link)
        self.blobs = open_blobs(store, data_dir(options), options.blobs)
        self.hosts = Hosts()
        self.follower = Follower(self.engine, self.hosts)
        self.places = Places(self.engine, self.hosts, self.follower)
        self.facts = redis_facts(options.redis, self.engine.name) if options.redis else None
        self.stated = nats_facts(options.facts, options.bus_prefix) if options.facts else None
        self.bus = open_bus(options.bus, options.bus_prefix) if options.bus else None
        self.board = open_board(options.board, options.bus_prefix) if options.board else None
        self.push: PushDispatcher | None = None
        self.pods: PodSync | None = None
        self.control: Control | None = None
        self.runners: list[Runner] = []

    def app(self) -> Starlette:
        options = AppOptions(
            auth_required=not self.options.no_auth,
            admin_token=self.options.admin_token,
            session_s=self.options.session_s,
            login_tries=self.options.login_tries,
            push_allow=(*LOOPBACK, *self.options.push_allow),
            trust=Trust(required=self.options.require_signature, keys=self.options.trust_keys),
            cors_origins=self.options.cors_origins,
            url_tokens=self.options.url_tokens,
            is_api="api" in self.options.roles,
            is_control="control" in self.options.roles,
        )
        return create_app(
            self.engine,
            self.attempts,
            options,
            link=self.link,
            commands=self.commands,
            blobs=self.blobs,
            places=self.places,
            env_host_offer=Offers(self.hosts, self.engine).take,
            workers_changed=self._workers_changed,
        )

    def start(self, local: Mapping[str, Execute]) -> None:
        """Start committing and, in the control role, the loops and dispatchers."""
        engine = self.engine
        local = {**BUILTINS, **local}
        self._supervise("Advance", engine.advance.run)
        self._loop(NoticeListener(engine))
        if "api" in self.options.roles:
            self._loop(LinkLeases(self.link))
            self._loop(LinkChecks(self.link))
            self._loop(LinkTokens(self.link))
            doing: dict[str, Handler] = {
                COMMAND: self.commands.carry_out,
                RELEASE: self.link.release,
                FACT: partial(state_kept, engine),
                BULK: BulkWorker(engine).do_slice,
            }
            self._loop(Outbox(engine, doing, self.link.addresses))
        if self.bus is not None:
            publisher = Publisher(engine, self.bus, self.options.bus_prefix)
            self._tell("BusOutbox", self.bus, publisher.outbox())
        if self.board is not None:
            self._tell("BoardOutbox", self.board, BoardCopier(engine, self.board).outbox())
        self._start_envs()
        url = address_of(self.options)
        if "control" not in self.options.roles:
            self._loop(Control(engine, url=url, role=workers.API))
            return
        self._loop(Timers(engine))
        self._loop(LimitWakes(engine))
        self._loop(Leases(engine))
        self._loop(OrphanedTasks(engine))
        self._loop(UnservedCalls(engine))
        self._loop(Expiry(engine, self.blobs))
        self._loop(Pruning(engine))
        self.control = Control(engine, self._local_queues(local), url=url)
        self._loop(self.control)
        engine.feed.on_stop.append(self._stop_attempt)
        self._run("local", Runner(self.attempts, engine.name, local, _LOCAL_SLOTS))
        if self.options.allow_scripts:
            scripts = {"script:script": partial(run_script, keep=partial(keep_log, engine))}
            self._run("scripts", Runner(self.attempts, engine.name, scripts, _SCRIPT_SLOTS))
        self.push = PushDispatcher(
            self.attempts,
            self._push_workers,
            holder=engine.name,
            slots=engine.settings.push_slots,
            reply_bytes_max=engine.settings.payload_bytes_max,
            token=self.options.push_token,
        )
        self._duties.start("PushDispatcher", self._call_push_workers)
        if self.facts is not None:
            self._duties.start("FactIntake", partial(self._take_facts, "FactIntake", self.facts))
        if self.stated is not None:
            name = "AttemptFactIntake"
            self._duties.start(name, partial(self._take_facts, name, self.stated))
        if launches(self.options):
            launcher, self.pods = make_launcher(engine, self.options)
            self._duties.start("PodSync", lambda: self._look_at_pods(engine))
            self._supervise("PodLauncher", launcher.run)

    def _start_envs(self) -> None:
        """Follow what is decided about environments, for the runtimes that are reached from here;
        that may be none, now or for ever."""
        add_own(self.hosts, self.options, data_dir(self.options))
        handlers = {**self.follower.handlers, IMAGE: ImageMaker(self.engine, self.hosts).make}
        outbox = EnvOutbox(self.engine, handlers, self.hosts.addresses)
        self.hosts.on_new.append(outbox.look)
        self._loop(outbox)
        self._loop(Sweep(self.engine, self.hosts, self.follower))

    def _local_queues(self, local: Mapping[str, Execute]) -> list[str]:
        scripts = ["script:script"] if self.options.allow_scripts else []
        pods = [LAUNCHES] if launches(self.options) else []
        return [*local, *scripts, *pods]

    @contextlib.asynccontextmanager
    async def group(self) -> AsyncGenerator[None]:
        """Where everything lives that `start` starts. It stops in reverse, so that last reports
        still find somebody to commit them."""
        group = anyio.create_task_group()
        await group.__aenter__()
        self._duties = Group(group)
        try:
            yield
        finally:
            with anyio.move_on_after(_STOP_S, shield=True):
                await self._duties.stop()
            # Whatever ended the block is told as it is, not as one of a group of errors.
            await group.__aexit__(None, None, None)
            await self.store.close()

    def _supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        duty = self.engine.duties.of(name)
        self._duties.start(name, lambda: restarted(work, duty))

    def _loop(self, loop: Loop) -> None:
        name = type(loop).__name__
        duty = self.engine.duties.of(name)
        self._duties.start(name, lambda: run_forever(loop, duty))

    def _run(self, name: str, runner: Runner) -> None:
        self.runners.append(runner)
        self._supervise(f"Runner {name}", runner.run)

    async def _call_push_workers(self) -> None:
        assert self.push is not None, "it was just made"
        try:
            await run_forever(self.push, self.engine.duties.of("PushDispatcher"))
        finally:
            await self.push.close()

    def _tell(self, name: str, outside: Bus | Board, outbox: Outbox) -> None:
        """Have somebody outside told what commits promise, for as long as this runs."""

        async def tell() -> None:
            try:
                await run_forever(outbox, self.engine.duties.of(name))
            finally:
                await outside.close()

        self._duties.start(name, tell)

    async def _take_facts(self, name: str, source: FactSource) -> None:
        try:
            await run_forever(FactIntake(self.engine, source), self.engine.duties.of(name))
        finally:
            await source.close()

    async def _look_at_pods(self, engine: Engine) -> None:
        assert self.pods is not None, "it was just made"
        try:
            await run_forever(self.pods, engine.duties.of("PodSync"))
        finally:
            await self.pods.close()

    async def _push_workers(self) -> list[Worker]:
        return await workers.live_workers(self.engine, transport="push")

    def _workers_changed(self) -> None:
        if self.push is not None:
            self.push.changed.set()

    def _stop_attempt(self, attempt_id: str, worker_id: str) -> None:
        """Stop an attempt that was cancelled or timed out, if it is executed from here."""
        for runner in self.runners:
            runner.stop(attempt_id)
        if self.push is not None:
            self.push.stop_attempt(attempt_id)
        if self.pods is not None and worker_id == WORKER:
            self.pods.wake()


def data_dir(options: ServerOptions) -> Path:
    """Where large things are kept: as told, or beside an SQLite file, or here."""
    if options.data_dir:
        return Path(options.data_dir)
    if options.db.startswith("sqlite:///"):
        return Path(options.db.removeprefix("sqlite:///") + ".files")
    return Path(".windlass") / "files"


def builtin_functions(*, services: bool) -> dict[str, Execute]:
    """Local functions; with `services` also the built-in services, as a worker would host them."""
    found = executions(builtin.local, "local")
    if services:
        found |= executions(builtin.worker, "push", "pull")
    return found


@contextlib.asynccontextmanager
async def running(
    options: ServerOptions, local: Mapping[str, Execute] | None = None
) -> AsyncGenerator[System]:
    """A system from its options, running until the block ends."""
    system = System(await open_store(options.db), options)
    async with system.group():
        system.start(builtin_functions(services=False) if local is None else local)
        if system.control is not None:
            # Others must find the control plane there from the moment this process answers.
            await system.control.run_once()
        # What is loaded now stays; the collector need not look at it for ever, nor so often: rows
        # are short-lived and free of cycles.
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
        yield system
