"""A whole engine inside a test: runs flows in process, in memory, with time that need not pass.

    async with local_engine(worker, clock="fake") as engine:
        ended = await engine.run(definition, {"sku": "A1"})
        assert ended.shared["total"] == 42

With the fake clock, timers, time-outs and pauses before retries come as soon as nothing else is
left to do. A worker's services are called as a worker calls them, with its own binding, type hints
and bounds; or give functions `(input, params) -> result` by the name of what a node calls.
Environments are pretended: `await engine.make_env("py")`, and `ctx.env` has files and a few words
of a shell.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec

from windlass.authoring import Flow
from windlass.drivers.dispatch.builtins import BUILTINS
from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Execute, Runner
from windlass.drivers.env.noop import NoopBackend
from windlass.engine import flows, plans, runs
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine, Settings
from windlass.engine.envs import resources
from windlass.engine.envs.follow import EnvOutbox, Follower
from windlass.engine.envs.hosts import Hosts
from windlass.engine.envs.places import Places
from windlass.engine.loops.forever import run_forever
from windlass.engine.loops.leases import Leases
from windlass.engine.loops.limits import LimitWakes
from windlass.engine.loops.timers import Timers
from windlass.model.envs import EnvResource, resource_id
from windlass.model.graph import Kind, Transport
from windlass.model.limits import LimitUse
from windlass.model.rows import Attempt, Checkpoint, Run, Task, Timer
from windlass.model.states import RUN_ENDED, CheckpointState, RunState, TaskState
from windlass.testing.memory import MemoryDatabase, MemoryStore
from windlass.wiring.functions import executions
from windlass.worker.registry import Worker

_BEGINNING_MS = 1_700_000_000_000
_SLOTS = 16

Handler = Callable[..., Any]


class Ended(msgspec.Struct, frozen=True):
    """How a run stands: its row, its shared values, its tasks."""

    run: Run
    shared: dict[str, Any]
    tasks: list[Task]

    @property
    def state(self) -> RunState:
        return self.run.state


class LocalEngine:
    """The engine of a test; made by `local_engine`."""

    def __init__(
        self,
        engine: Engine,
        database: MemoryDatabase,
        clock: "FakeClock | None",
        places: Places,
    ) -> None:
        self.engine = engine
        self.database = database
        self._clock = clock
        self.places = places

    async def make_env(self, name: str, kind: str = "noop", *, capacity: int = 1) -> None:
        """A resource whose places are pretended, whatever their kind."""
        row = EnvResource(
            id=resource_id(self.engine.home, name),
            tenant=self.engine.home,
            name=name,
            kind=kind,
            capacity=capacity,
            created_at=self.engine.store.now(),
        )
        await resources.create(self.engine, self.places.hosts, row)

    async def start(self, definition: object, params: Mapping[str, Any] | None = None) -> str:
        """Begin a run of a definition, or of a Flow as it is; returns its id."""
        name = "test"
        if isinstance(definition, Flow):
            name, definition = definition.name, definition.compile()
        published = await flows.publish(self.engine, name, definition)
        text = msgspec.json.encode(params or {}).decode()
        started = await runs.start_run(self.engine, published.target, text)
        return started.run.id

    async def plan(
        self,
        goal: str,
        *,
        plan: object = None,
        input: object = None,  # noqa: A002  the wire's name
        planner: str = "",
        worker: str = "",
    ) -> str:
        """Begin a run for a goal, with a plan or a planner; returns its id."""
        given = {
            "goal": goal,
            "plan": plan,
            "input": input,
            "planner_profile": planner or None,
            "worker_profile": worker or None,
        }
        settings = {name: value for name, value in given.items() if value is not None}
        started, _ = await plans.start(self.engine, settings)
        return started.run.id

    async def run(
        self, definition: object, params: Mapping[str, Any] | None = None, wait_s: float = 10.0
    ) -> Ended:
        """Begin a run and wait for its end."""
        return await self.ended(await self.start(definition, params), wait_s)

    async def ended(self, run_id: str, wait_s: float = 10.0) -> Ended:
        """A run once it has ended; an error tells what it waits for if it does not."""
        run = await self._until(run_id, lambda run: run.state in RUN_ENDED, wait_s)
        return await self.look(run.id)

    async def waits(self, run_id: str, wait_s: float = 10.0) -> Ended:
        """A run once it waits for a signal, a person or a timer, or has ended.

        The pause before a retry is not what a test waits for: time passes over it.
        """
        run = await self._until(run_id, self._is_calm, wait_s)
        return await self.look(run.id)

    async def asks(self, run_id: str, wait_s: float = 10.0) -> Checkpoint:
        """The question a run waits with, once it asks one; LookupError if it ends without."""
        run = await self._until(
            run_id, lambda run: run.state in RUN_ENDED or bool(self._questions(run_id)), wait_s
        )
        for question in self._questions(run_id):
            return question
        raise LookupError(f"run {run_id} is {run.state} and asks nobody anything")

    def _questions(self, run_id: str) -> list[Checkpoint]:
        rows = self.database.of_run(Checkpoint, run_id)
        return [row for row in rows if row.state is CheckpointState.OPEN]

    def _is_calm(self, run: Run) -> bool:
        if run.state is not RunState.WAITING:
            return run.state in RUN_ENDED
        tasks = self.database.of_run(Task, run.id)
        return not any(t.kind == Kind.CALL and t.state is TaskState.WAITING for t in tasks)

    async def _until(self, run_id: str, good: Callable[[Run], bool], wait_s: float) -> Run:
        deadline = time.monotonic() + wait_s
        moved = asyncio.Event()
        with self.engine.feed.runs.watching(run_id, moved):
            while True:
                moved.clear()
                run = self.database.table(Run)[run_id]
                if good(run):
                    return run
                if time.monotonic() > deadline:
                    raise TimeoutError(f"run {run_id} is {run.state} at node {run.node}")
                self._pass_time()
                try:
                    async with asyncio.timeout(0.05):
                        await moved.wait()
                except TimeoutError:
                    continue

    def _pass_time(self) -> None:
        """Jump to the next timer when only time can move anything."""
        busy = any(True for _ in self.database.live_attempts) or any(self.database.queues)
        if self._clock is None or busy:
            return
        times = [timer.due_at for timer in self.database.table(Timer).values()]
        times += [use.wake_at for use in self.database.table(LimitUse).values() if use.wake_at]
        if times:
            self._clock.now_ms = max(self._clock.now_ms, min(times))
            self.engine.feed.timers_due_at = None
            self.engine.feed.timers.set()
            self.engine.advance.limiting.news.set()

    async def look(self, run_id: str) -> Ended:
        """A run as it stands."""
        run, shared = await runs.snapshot(self.engine, await runs.get_run(self.engine, run_id))
        tasks = sorted(self.database.of_run(Task, run_id), key=lambda t: (t.made_seq, t.id))
        return Ended(run, {key: msgspec.json.decode(raw) for key, raw in shared.items()}, tasks)

    def attempts(self, run_id: str) -> list[Attempt]:
        return sorted(self.database.of_run(Attempt, run_id), key=lambda attempt: attempt.id)

    async def signal(self, run_id: str, key: str, value: Any) -> None:
        await runs.signal(self.engine, run_id, key, msgspec.json.encode(value).decode())

    async def answer(self, run_id: str, value: Any, *, by: str = "tester") -> None:
        """Answer the question a run waits with."""
        for checkpoint in self._questions(run_id):
            await runs.answer(self.engine, checkpoint.id, value, by=by)
            return
        raise LookupError(f"run {run_id} asks nobody anything")

    async def cancel(self, run_id: str) -> None:
        await runs.cancel(self.engine, run_id)

    async def retry(
        self, run_id: str, task: str | None = None, *, descendants: bool = False
    ) -> str:
        return await runs.retry(self.engine, run_id, task, descendants)


class FakeClock:
    """A clock that moves when it is told to, and a little with every look, as time does."""

    def __init__(self) -> None:
        self.now_ms = _BEGINNING_MS

    def __call__(self) -> int:
        return self.now_ms


def real_ms() -> int:
    return time.time_ns() // 1_000_000


def _executions(
    handlers: Worker | Mapping[str, Handler], engine: Engine, places: Places
) -> dict[str, Execute]:
    """What executes the tasks of each queue, whatever transport a node names."""
    transports = (Transport.LOCAL, Transport.PULL, Transport.PUSH)
    if isinstance(handlers, Worker):
        return executions(handlers, *transports, engine=engine, places=places)
    return {
        f"{transport}:{name}": function(handler, inline=not inspect.iscoroutinefunction(handler))
        for name, handler in handlers.items()
        for transport in transports
    }


def pretended_hosts() -> Hosts:
    """Runtimes of all kinds that are only pretended."""
    hosts = Hosts()
    hosts.add("local", {kind: NoopBackend(kind=kind) for kind in ("noop", "container", "browser")})
    return hosts


@asynccontextmanager
async def local_engine(
    handlers: Worker | Mapping[str, Handler],
    *,
    clock: Literal["fake", "real"] = "fake",
    settings: Settings | None = None,
) -> AsyncGenerator[LocalEngine, None]:
    """An engine with everything it needs, for as long as the block runs."""
    fake = FakeClock() if clock == "fake" else None
    database = MemoryDatabase(fake or real_ms)
    engine = Engine(MemoryStore(database), settings, name="local")
    caps = handlers.caps if isinstance(handlers, Worker) else {}
    hosts = pretended_hosts()
    follower = Follower(engine, hosts)
    places = Places(engine, hosts, follower)
    execute = {**BUILTINS, **_executions(handlers, engine, places)}
    runner = Runner(Attempts(engine), "local", execute, _SLOTS, caps=caps)
    envs = EnvOutbox(engine, follower.handlers, hosts.addresses)
    loops = (Timers(engine), LimitWakes(engine), Leases(engine), envs)
    duties = [engine.advance.run(), *(run_forever(loop) for loop in loops)]
    tasks = [asyncio.ensure_future(duty) for duty in duties]
    worker = asyncio.ensure_future(runner.run())
    try:
        yield LocalEngine(engine, database, fake, places)
    finally:
        for task in (worker, *tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
