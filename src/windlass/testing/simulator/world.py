"""A world from a plan: built, troubled, calmed down, and held to its promises."""

import asyncio
import logging
import traceback
from typing import Any

import msgspec

from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, EnvState
from windlass.model.errors import WindlassError
from windlass.model.rows import Event, Run, Task, Timer, Version
from windlass.model.states import RUN_ENDED
from windlass.protocol.link.envelope import Refused
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.chaos import Chaos, Victim
from windlass.testing.simulator.checks.checker import Checker
from windlass.testing.simulator.checks.pods import PodChecks
from windlass.testing.simulator.checks.rows import Broken
from windlass.testing.simulator.cluster import Cluster
from windlass.testing.simulator.envs import Runtimes
from windlass.testing.simulator.handlers import Handlers
from windlass.testing.simulator.link import LinkWorker
from windlass.testing.simulator.loop import Spinning, Stuck, VirtualLoop
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.people import People
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.pull import PullWorker
from windlass.testing.simulator.server import Server
from windlass.testing.simulator.witness import Witness
from windlass.testing.simulator.worker import Worker
from windlass.worker.link.socket import Closed

EPOCH_MS = 1_800_000_000_000
_EXPECTED = (WindlassError, Broken, Closed, Refused, TimeoutError)
"""What a task may end in: refusals, outages, and connections that broke."""
_FOUND = (Broken, Stuck, Spinning, msgspec.MsgspecError)
_WRONG = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What our own code ends with where it is at fault: that is a problem of its seed."""
_DONE_S = 8.0
"""A calm world does what is due within so long."""
CALM_S = 240.0
"""By then everything must have ended: leases, waits and back-offs of a calm world are shorter."""


class Outcome(msgspec.Struct, frozen=True):
    """How a world went."""

    plan: Plan
    problem: str
    """Empty when every promise was kept."""
    digest: str
    commits: int
    virtual_s: float
    trace: tuple[str, ...] = ()
    """The newest events of the run the problem is about."""


class Errors(logging.Handler):
    """Hears what the engine calls an error: in a sound engine there is none."""

    def __init__(self, world: "World") -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            where = traceback.format_tb(record.exc_info[1].__traceback__)[-4:]
            text = f"{text}: {record.exc_info[1]!r}\n{''.join(where)}"
        self._world.fail(Broken(f"the engine logged: {text}"))


class World:
    """Everything of one simulation."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        order = plan.rng("order") if plan.shuffled else None
        self.loop = VirtualLoop(order)
        self.database = MemoryDatabase(lambda: EPOCH_MS + int(self.loop.time() * 1000))
        self.handlers = Handlers(plan)
        self.cluster = Cluster(plan, self.loop, self.fail)
        pods = PodChecks(self.cluster.truths, self.cluster.refused) if plan.has("pods") else None
        self.checker = Checker(self.database, self.handlers.reported, self.fail, pods)
        self.network = Network(self.loop, plan, self.fail)
        self.runtimes = Runtimes(plan)
        places = (self.runtimes, self.cluster)
        self.servers = [
            Server(f"server{n}", plan, self.loop, self.database, self.handlers, *places)
            for n in range(plan.servers)
        ]
        Witness(
            plan,
            self.database,
            self.network,
            self.servers,
            self.cluster,
            self.handlers.reported,
            self.fail,
        )
        self.people = People(plan, self.database, self.network, self.servers)
        self.workers = [self._worker(n, kind) for n, kind in enumerate(plan.workers)]
        self.hosts: list[Victim] = [*self.servers, *self.workers]
        self.chaos = Chaos(plan, self.loop, self.network, self.hosts)

    def _worker(self, number: int, kind: str) -> Victim:
        name = f"worker{number}"
        parts = (name, self.plan, self.loop, self.network, self.servers, self.handlers)
        if kind == "link":
            return LinkWorker(*parts)
        return (PullWorker if kind == "pull" else Worker)(*parts, accepted=self._accepted)

    def fail(self, error: BaseException) -> None:
        self.loop.fail(error)

    def _accepted(self, attempt_id: str, answer: str) -> None:
        try:
            self.people.accepted(attempt_id, answer)
        except Broken as error:
            self.fail(error)

    async def live(self) -> None:
        """The whole story."""
        self.people.make_versions()
        for host in self.hosts:
            host.restart()
        await self.people.publish()
        troubles = (self.chaos.run(), self._lose_one(), self._set_clocks_back())
        trouble = [asyncio.ensure_future(one) for one in troubles]
        deeds = [asyncio.ensure_future(self.people.meddle())]
        deeds.append(asyncio.ensure_future(self.people.patch_graphs()))
        deeds.append(asyncio.ensure_future(self.people.steer()))
        deeds.append(asyncio.ensure_future(self.people.act()))
        deeds.append(asyncio.ensure_future(self.people.fork()))
        numbers = range(len(self.people.versions))
        deeds += [asyncio.ensure_future(self.people.start(n)) for n in numbers]
        await asyncio.sleep(self.plan.trouble_s)
        self.calm_down()
        try:
            async with asyncio.timeout(CALM_S):
                await asyncio.gather(*trouble, *deeds)
                await self.people.end_loops()
                await self._rest()
        except TimeoutError:
            raise Broken(
                f"not at rest {CALM_S:.0f} s after the last fault:"
                f" {[*self._open(), *self._places()]}"
            ) from None

    async def _lose_one(self) -> None:
        """One of several workers on the link goes for good; the others must do its work."""
        linked = [worker for worker in self.workers if isinstance(worker, LinkWorker)]
        if len(linked) > 1 and self.plan.has("gone"):
            rng = self.plan.rng("gone")
            await asyncio.sleep(rng.uniform(0.2, 0.8) * self.plan.trouble_s)
            rng.choice(linked).go()

    async def _set_clocks_back(self) -> None:
        """Clocks of some machines are corrected, by seconds or by an hour, each for itself."""
        if self.plan.has("clock_back"):
            rng = self.plan.rng("clock_back")
            for server in self.servers:
                await asyncio.sleep(rng.uniform(0.1, 0.3) * self.plan.trouble_s)
                server.set_clock_back(rng.choice((1_500, 30_000, 3_600_000)))

    def calm_down(self) -> None:
        for part in (self.network, self.handlers, self.people, self.runtimes, self.cluster):
            part.calm = True
        for server in self.servers:
            server.calm_down()
        self.chaos.end()

    async def _rest(self) -> None:
        """Help until nothing moves any more: late commits and requests may still come in."""
        while True:
            await self.people.help_all()
            await asyncio.sleep(12.0)
            if not self._open() and not self._places():
                break
        leftover = [*self.database.table(Timer), *(a.id for a in self.database.live_attempts)]
        if leftover:
            raise Broken(f"left over at the end: {leftover}")
        if not self.plan.faults & {"crash", "unavailable"} and self.cluster.forgotten():
            raise Broken(f"Secrets that nobody deletes: {self.cluster.forgotten()}")
        # Whoever had one and died has it until its lease runs out.
        due = EPOCH_MS + int((self.loop.time() - _DONE_S) * 1000)
        untold = [
            effect.id
            for server in self.servers
            for effect in self.database.table(Effect).values()
            if effect.address in server.addresses()
            and effect.state == "waiting"
            and max(effect.due_at, effect.lease_until) < due
        ]
        if untold:
            raise Broken(f"promised and never done: {untold}")

    def _open(self) -> list[str]:
        runs = self.database.table(Run).values()
        return [f"{run.id} {run.state}" for run in runs if run.state not in RUN_ENDED]

    def _places(self) -> list[str]:
        """Sessions that are not over, and places and pods that are there although nobody wants
        them."""
        sessions = self.database.table(EnvSession).values()
        alive = [row.id for row in sessions if row.state is not EnvState.RELEASED]
        return [*alive, *self.runtimes.names(), *self.cluster.names()]

    def check_tasks(self) -> None:
        """Whatever a process did on the side must not have failed unseen."""
        for task in self.loop.tasks:
            if task.done() and not task.cancelled():
                error = task.exception()
                if error is not None and not isinstance(error, _EXPECTED):
                    raise Broken(f"a task of the engine failed: {error!r}")

    def trace(self, problem: str) -> tuple[str, ...]:
        """The last events of the run a problem names, or of any that has not ended."""
        runs = list(self.database.table(Run).values())
        named = [run for run in runs if run.id in problem] or runs
        return tuple(line for run in named[:1] for line in self._story(run))

    def _story(self, run: Run) -> list[str]:
        version = self.database.table(Version)[run.version_id]
        events = sorted(self.database.of_run(Event, run.id), key=lambda event: event.seq)
        lines = [f"definition {version.source}", f"run {run.id} {run.state} params {run.params}"]
        for event in events[-40:]:
            told = told_of(event, run.id)
            lines.append(f"{event.at - EPOCH_MS:>8} ms  {event.seq:>3} {event.type}: {told}")
        tasks = sorted(self.database.of_run(Task, run.id), key=lambda task: task.id)
        lines += [f"task {task.id.removeprefix(run.id)} {task.state}" for task in tasks[-40:]]
        return lines


def told_of(event: Event, run_id: str) -> str:
    """What an event changed, if that can be read: some faults are that it cannot."""
    try:
        changes = msgspec.json.decode(event.data)["changes"]
    except msgspec.DecodeError:
        return "(cannot be read)"
    return ", ".join(short(change, run_id) for change in changes)


def short(change: dict[str, Any], run_id: str) -> str:
    return " ".join(
        str(value).removeprefix(run_id) for key, value in change.items() if key != "error"
    )


def simulate(plan: Plan) -> Outcome:
    """Live one world to its end."""
    world = World(plan)
    log = logging.getLogger("windlass")
    level, propagate = log.level, log.propagate
    errors = Errors(world)
    log.addHandler(errors)
    log.setLevel(logging.ERROR)
    log.propagate = False
    problem = ""
    try:
        world.loop.run_until_complete(world.live())
        world.check_tasks()
    except (*_FOUND, *_WRONG) as error:
        problem = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
    finally:
        trace = world.trace(problem) if problem else ()
        virtual_s = world.loop.time()
        # What is cut off in the middle of something complains, and nobody need hear that.
        log.setLevel(logging.CRITICAL + 1)
        world.loop.end()
        log.removeHandler(errors)
        log.setLevel(level)
        log.propagate = propagate
    return Outcome(plan, problem, world.checker.digest, world.database.commits, virtual_s, trace)
