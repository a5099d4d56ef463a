"""People and programs around the engine: they start runs, signal, answer, cancel and retry.

What is acknowledged to them must be in the database at that very moment.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from windlass.engine import forks, runs
from windlass.engine.engine import Engine
from windlass.engine.flows import target_of
from windlass.model.envs import EnvResource
from windlass.model.errors import BadRequest, Conflict, DefinitionError, NotFound, Unavailable
from windlass.model.ids import run_of
from windlass.model.limits import LimitRule
from windlass.model.rows import Attempt, Checkpoint, Event, Flow, Run, Task, Variable, Version
from windlass.model.states import (
    RUN_ENDED,
    AttemptState,
    CheckpointState,
    Role,
    RunState,
    TaskState,
)
from windlass.model.tenants import Tenant
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.acting import Acting
from windlass.testing.simulator.checks.rows import Broken
from windlass.testing.simulator.envs import add_envs, resources_of
from windlass.testing.simulator.flows import SIGNALS, make_flow, make_params
from windlass.testing.simulator.limits import (
    PROJECTS,
    add_budget,
    add_limits,
    breaker_of,
    quotas_of,
)
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.patching import Patching
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.planning import add_plans, make_plan_definition
from windlass.testing.simulator.pods import make_pod_flow
from windlass.testing.simulator.server import Server
from windlass.testing.simulator.steering import Steering
from windlass.testing.simulator.verdicts import add_verification
from windlass.testing.simulator.workflows import make_workflow

T = TypeVar("T")

POISON = ("1e999", "-1e999", "9" * 5_000, "[" * 500 + "]" * 500, "NaN", '"\\ud800"', "{", "")
"""Texts that are no JSON, or none that everybody reads."""
_BACK = '"back"'
"""A signal that leads back."""


class People:
    """All callers of a world."""

    def __init__(
        self, plan: Plan, database: MemoryDatabase, network: Network, servers: list[Server]
    ) -> None:
        self._plan = plan
        self._db = database
        self._network = network
        self._servers = servers
        self._rng: random.Random = plan.rng("people")
        self.versions: list[tuple[Flow, Version, dict[str, Any]]] = []
        self.started: dict[str, str] = {}
        """Idempotency key → the run its caller was told of."""
        self.calm = False
        self._patching = Patching(database, plan.rng("patches"), self._ask)
        self._steering = Steering(database, plan.rng("steering"), self._ask, self._its)
        acting = plan.rng("acting")
        self._acting = Acting(database, acting, partial(self._ask, rng=acting), self._its)

    async def _ask(
        self, serve: Callable[[Server], Awaitable[T]], rng: random.Random | None = None
    ) -> T:
        server = (rng or self._rng).choice(self._servers)
        return await self._network.call("people", server, lambda: serve(server), 4.0)

    # Starting

    def make_versions(self) -> None:
        rng = self._plan.rng("flows")
        verified, planned = self._plan.rng("verified"), self._plan.rng("planned")
        limited, budgeted = self._plan.rng("limits"), self._plan.rng("budgets")
        placed, grown = self._plan.rng("placed"), self._plan.rng("grown")
        linked = "link" in self._plan.workers
        for number in range(1, self._plan.runs + 1):
            # Only workers on the link have packages.
            is_workflow = linked and rng.random() < 0.4
            source = make_workflow(rng) if is_workflow else make_flow(rng)
            is_plan = self._plan.has("planned") and planned.random() < 0.5
            if is_plan:
                source = make_plan_definition(planned)
            elif self._plan.has("verified") and not is_workflow:
                add_verification(source, verified)
            if self._plan.has("grown") and not is_workflow and not is_plan:
                add_plans(source, grown)
            if self._plan.has("limited") and not is_workflow and not is_plan:
                add_limits(source, limited)
            if self._plan.has("placed") and not is_workflow:
                add_envs(source, placed, planned=is_plan)
            if self._plan.has("budgeted") and not is_workflow:
                add_budget(source, budgeted)
            tenant = self._plan.tenants[number % len(self._plan.tenants)]
            flow = Flow(id=f"f{number}", name=f"flow {number}", created_at=0, tenant=tenant)
            version = Version(
                id=f"v{number}",
                flow_id=flow.id,
                number=1,
                dialect="plan" if is_plan else "workflow" if is_workflow else "flow",
                source=msgspec.json.encode(source).decode(),
                created_at=0,
            )
            self.versions.append((flow, version, make_params(rng)))
        if self._plan.has("pods"):
            self._make_pod_versions()

    def _make_pod_versions(self) -> None:
        """More runs, so that those a world has anyway are what they are without pods."""
        rng = self._plan.rng("pods")
        for number in range(rng.choice((1, 2, 4))):
            source = make_pod_flow(rng, limited=self._plan.has("limited"))
            tenant = self._plan.tenants[number % len(self._plan.tenants)]
            flow = Flow(id=f"p{number}", name=f"pods {number}", created_at=0, tenant=tenant)
            version = Version(
                id=f"w{number}",
                flow_id=flow.id,
                number=1,
                dialect="flow",
                source=msgspec.json.encode(source).decode(),
                created_at=0,
            )
            self.versions.append((flow, version, make_params(rng)))

    async def publish(self) -> None:
        for name in self._plan.tenants:
            row = Tenant(id=name, created_at=0)
            await self._until_done(
                lambda server, row=row: server.engine.write(row),  # type: ignore[misc]
                lambda name=name: name in self._db.table(Tenant),  # type: ignore[misc]
            )
            for resource in resources_of(name) if self._plan.has("placed") else ():
                await self._until_done(
                    lambda server, row=resource: server.engine.write(row),  # type: ignore[misc]
                    lambda key=resource.id: key in self._db.table(EnvResource),  # type: ignore[misc]
                )
            rules = [breaker_of(name)] if self._plan.has("breakers") else []
            rules += quotas_of(name) if self._plan.has("quotas") else []
            for rule in rules:
                await self._until_done(
                    lambda server, rule=rule: server.engine.write(rule),  # type: ignore[misc]
                    lambda key=rule.id: key in self._db.table(LimitRule),  # type: ignore[misc]
                )
        for flow, version, _ in self.versions:
            await self._until_done(
                lambda server, rows=(flow, version): server.engine.write(*rows),  # type: ignore[misc]
                lambda key=version.id: key in self._db.table(Version),  # type: ignore[misc]
            )

    async def _until_done(
        self, serve: Callable[[Server], Awaitable[Any]], done: Callable[[], bool]
    ) -> None:
        while not done():
            try:
                await self._ask(serve)
            except (Unavailable, Conflict):
                await asyncio.sleep(0.2)

    async def start(self, number: int) -> None:
        """Start one run for certain: the same key until somebody says it is there."""
        flow, version, params = self.versions[number]
        target = target_of(flow, version)
        # A workflow without inputs takes no parameters.
        text = msgspec.json.encode(params if version.dialect == "flow" else {}).decode()
        key = f"key{number}"

        async def once() -> None:
            while key not in self.started:
                try:
                    told = await self._ask(
                        lambda server: runs.start_run(
                            server.engine.of(flow.tenant),
                            target,
                            text,
                            key=key,
                            priority=number % 2,
                            project=PROJECTS[number % len(PROJECTS)],
                        )
                    )
                except Unavailable:
                    await asyncio.sleep(0.2)
                    continue
                self.tell_started(key, told.run.id)

        await asyncio.sleep(self._rng.random() * self._plan.trouble_s * 0.4)
        callers = 3 if self._plan.has("same_key") else 1
        await asyncio.gather(*(once() for _ in range(callers)))

    def tell_started(self, key: str, run_id: str) -> None:
        if run_id not in self._db.table(Run):
            raise Broken(f"run {run_id} was acknowledged and is not there")
        if self.started.setdefault(key, run_id) != run_id:
            raise Broken(f"key {key} started {self.started[key]} and {run_id}")

    # Meddling

    async def meddle(self) -> None:
        """Do things to runs at random for as long as there is trouble."""
        deeds = {
            "signal": self.signal,
            "answer": self.answer,
            "cancel": self.cancel,
            "retry": self.retry,
            "retry_from": self.retry_from,
            "poison": self.poison,
            "spy": self.spy,
        }
        mine = [deed for name, deed in deeds.items() if self._plan.has(name)]
        while mine and not self.calm:
            await asyncio.sleep(self._rng.expovariate(2.5))
            known = list(self._db.table(Run).values())
            waiting = [run for run in known if run.state is RunState.WAITING]
            if known:
                run = self._rng.choice(waiting if waiting and self._rng.random() < 0.5 else known)
                await self.attempt(self._rng.choice(mine), run)

    async def patch_graphs(self) -> None:
        """Change the graphs of runs that can grow, for as long as there is trouble."""
        while self._plan.has("patch") and not self.calm:
            await asyncio.sleep(self._patching.rng.expovariate(2.0))
            for run in list(self._db.table(Run).values())[:1]:
                await self.attempt(self._patching.patch, run)

    async def steer(self) -> None:
        """Steer runs that go on, for as long as there is trouble."""
        while self._plan.has("steer") and not self.calm:
            await asyncio.sleep(self._steering.rng.expovariate(2.0))
            for run in list(self._db.table(Run).values())[:1]:
                await self.attempt(self._steering.steer, run)

    async def act(self) -> None:
        """Let attempts do things outside, for as long as there is trouble."""
        while self._plan.has("act") and not self.calm:
            await asyncio.sleep(self._acting.rng.expovariate(6.0))
            for run in list(self._db.table(Run).values())[:1]:
                await self.attempt(self._acting.act, run)

    async def fork(self) -> None:
        """Fork runs that have ended, for as long as there is trouble."""
        rng = self._plan.rng("forks")
        while self._plan.has("fork") and not self.calm:
            await asyncio.sleep(rng.expovariate(1.0))
            ended = [run for run in self._db.table(Run).values() if run.state in RUN_ENDED]
            if ended and len(self._db.table(Run)) < 3 * self._plan.runs:
                run = rng.choice(ended)
                await self.attempt(lambda run: self._fork(run, rng), run)

    async def _fork(self, run: Run, rng: random.Random) -> None:
        tasks = list(self._db.of_run(Task, run.id))
        if not tasks:
            return
        task = rng.choice(tasks).id.removeprefix(run.id)
        made = await self._ask(
            lambda server: forks.fork_run(self._its(server, run.id), run, task), rng
        )
        if made.run.id not in self._db.table(Run):
            raise Broken(f"fork {made.run.id} was acknowledged and is not there")

    async def attempt(self, deed: Callable[[Run], Awaitable[None]], run: Run) -> None:
        try:
            await deed(run)
        except (Unavailable, Conflict, DefinitionError):
            return
        except NotFound as error:
            raise Broken(f"{run.id} was there and is not found: {error}") from error

    async def signal(self, run: Run) -> None:
        waiting = [task.wait_key for task in self._db.of_run(Task, run.id) if task.wait_key]
        key = self._rng.choice(waiting or [*SIGNALS, "ok"])
        value = self._rng.choice((_BACK, "true", "false", '"x"', str(self._rng.randrange(9))))
        await self.send(run.id, key, value)

    async def send(self, run_id: str, key: str, value: str) -> None:
        await self._ask(lambda server: runs.signal(self._its(server, run_id), run_id, key, value))
        self._expect(run_id, "signal.received")

    async def answer(self, run: Run) -> None:
        rows = list(self._db.of_run(Checkpoint, run.id))
        asking = [row for row in rows if row.state is CheckpointState.OPEN]
        if rows:
            value = self._rng.choice((True, False, "approved"))
            await self.give(self._rng.choice(asking or rows).id, value)

    async def give(self, checkpoint_id: str, value: Any) -> None:
        run_id = run_of(checkpoint_id)
        await self._ask(
            lambda server: runs.answer(self._its(server, run_id), checkpoint_id, value, by="p")
        )
        row = self._db.table(Checkpoint)[checkpoint_id]
        if row.state is not CheckpointState.RESOLVED or row.answered_by != "p":
            raise Broken(f"checkpoint {row.id} was answered and is {row.state}")

    async def cancel(self, run: Run) -> None:
        await self._ask(lambda server: runs.cancel(self._its(server, run.id), run.id, "meddling"))
        self._expect(run.id, "run.cancel_requested")

    async def retry(self, run: Run) -> None:
        await self._ask(lambda server: runs.retry(self._its(server, run.id), run.id, None, False))
        self._expect(run.id, "task.retry_requested")

    async def retry_from(self, run: Run) -> None:
        tasks = list(self._db.of_run(Task, run.id))
        if tasks:
            task = self._rng.choice(tasks)
            name = task.node if task.idx < 0 and self._rng.random() < 0.3 else task.id
            alone = self._rng.random() < 0.3
            await self._ask(
                lambda server: runs.retry(self._its(server, run.id), run.id, name, not alone)
            )
            self._expect(run.id, "task.retry_requested")

    async def spy(self, run: Run) -> None:
        """Say the same things on behalf of a tenant that has nothing: to it no run is there."""
        asking = [row.id for row in self._db.of_run(Checkpoint, run.id)]
        question = self._rng.choice(asking) if asking else f"{run.id}~none!0"

        async def steer(server: Server) -> None:
            engine = server.engine.of("spy")
            match self._rng.randrange(4):
                case 0:
                    await runs.signal(engine, run.id, self._rng.choice([*SIGNALS, "ok"]), '"spy"')
                case 1:
                    await runs.answer(engine, question, True, by="spy")
                case 2:
                    await runs.retry(engine, run.id, None, False)
                case _:
                    await runs.cancel(engine, run.id, "spy")

        try:
            await self._ask(steer)
        except NotFound:
            return
        raise Broken(f"run {run.id} of {run.tenant} was steered by another tenant")

    def _its(self, server: Server, run_id: str) -> Engine:
        """The engine as whoever has the run sees it."""
        return server.engine.of(self._db.table(Run)[run_id].tenant)

    async def poison(self, run: Run) -> None:
        """Send what nobody can read, or has no place; it is refused, and the run none the worse."""
        text = self._rng.choice(POISON)
        flow, version, _ = self._rng.choice(self.versions)
        target = target_of(flow, version)

        async def signal(server: Server) -> None:
            await runs.signal(server.engine, run.id, self._rng.choice([*SIGNALS, "ok"]), text)

        async def start(server: Server) -> None:
            await runs.start_run(server.engine, target, f'{{"poison": {text}}}', key="poison")

        async def tags(server: Server) -> None:
            await runs.start_run(server.engine, target, "{}", key="poison", tags=text)

        async def key(server: Server) -> None:
            await runs.signal(server.engine, run.id, self._rng.choice(("", "a\0b", "k" * 999)), "1")

        try:
            await self._ask(self._rng.choice((signal, start, tags, key)))
        except BadRequest:
            return
        raise Broken(f"run {run.id}: what nobody can read was taken: {text:.40}")

    def _expect(self, run_id: str, type_: str) -> None:
        """What was acknowledged stands in the run's history."""
        if not any(event.type == type_ for event in self._db.of_run(Event, run_id)):
            raise Broken(f"{type_} of run {run_id} was acknowledged and is not in its history")

    def accepted(self, attempt_id: str, answer: str) -> None:
        """A worker was told that its result counts."""
        attempt = self._db.table(Attempt)[attempt_id]
        if attempt.state is AttemptState.LOST:
            # Nobody had taken the task since: another attempt in its worker's name ended it.
            attempt = self._db.table(Attempt)[f"{attempt.task_id}@{attempt.number + 1}"]
        # What is no verdict, no plan or no answer is taken, and is the attempt's failure.
        dealt_with = attempt.state is AttemptState.FAILED and (
            attempt.role is not Role.WORK or attempt.output is not None
        )
        if attempt.state is not AttemptState.SUCCEEDED and not dealt_with:
            raise Broken(f"{attempt_id} was told {answer} and is {attempt.state}")

    # Calm

    async def end_loops(self) -> None:
        """No signal leads back any more. What a task inside a container was sent stays there, and
        no other signal takes its place: such a run goes round until somebody cancels it."""
        for run in list(self._db.table(Run).values()):
            for key in SIGNALS:
                await self.attempt(lambda run, key=key: self.send(run.id, key, '"go"'), run)  # type: ignore[misc]
        rows = self._db.table(Variable).values()
        back = [row.scope for row in rows if row.key in SIGNALS and row.value == _BACK]
        for run_id in sorted({run_of(scope) for scope in back if scope != run_of(scope)}):
            if (run := self._db.table(Run)[run_id]).state not in RUN_ENDED:
                await self.attempt(self.cancel, run)

    async def help_all(self) -> None:
        """Give every run what it waits for, until all have ended."""
        while True:
            await asyncio.sleep(1.0)
            waiting = [run for run in self._db.table(Run).values() if run.state not in RUN_ENDED]
            if not waiting and len(self.started) == len(self.versions):
                return
            for run in waiting:
                await self._help(run)

    async def _help(self, run: Run) -> None:
        for checkpoint in list(self._db.of_run(Checkpoint, run.id)):
            if checkpoint.state is CheckpointState.OPEN:
                await self.attempt(lambda _, key=checkpoint.id: self.give(key, True), run)  # type: ignore[misc]
        for task in list(self._db.of_run(Task, run.id)):
            asked = task.kind == "call"
            if task.state is TaskState.WAITING and task.wait_key is not None and not asked:
                key = task.wait_key
                await self.attempt(lambda run, key=key: self.send(run.id, key, '"go"'), run)  # type: ignore[misc]
