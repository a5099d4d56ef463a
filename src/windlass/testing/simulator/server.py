"""A simulated server: the real engine with its loops and an in-process runner, life after life."""

from pathlib import Path

from starlette.applications import Starlette

from windlass.drivers.blobs.files import FileBlobs
from windlass.drivers.dispatch.pod_api import PodApi
from windlass.drivers.dispatch.pod_launcher import Namespaces, PodLauncher
from windlass.drivers.dispatch.pod_sync import PodSync
from windlass.drivers.dispatch.runner import AttemptError, Done, Runner
from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine, Settings
from windlass.engine.envs.follow import EnvOutbox, Follower
from windlass.engine.envs.places import Places
from windlass.engine.envs.sweep import Sweep
from windlass.engine.loops.forever import run_forever
from windlass.engine.loops.leases import Leases
from windlass.engine.loops.limits import LimitWakes
from windlass.engine.loops.notices import NoticeListener
from windlass.engine.loops.orphans import OrphanedTasks
from windlass.engine.loops.outbox import Outbox
from windlass.engine.loops.timers import Timers
from windlass.engine.pods import PodAttempts
from windlass.kernel.bounds import Limits
from windlass.model.assignment import Assignment
from windlass.model.effects import RELEASE
from windlass.model.rows import Failure
from windlass.model.verification import BASIC
from windlass.server.app import AppOptions, create_app
from windlass.server.commands import COMMAND, Commands
from windlass.server.context import ServerContext
from windlass.server.link.duties import LinkChecks, LinkLeases, LinkTokens
from windlass.server.link.plane import LinkPlane, LinkSettings
from windlass.testing.memory import MemoryDatabase, MemoryStore
from windlass.testing.simulator.cluster import DEADLINES, Cluster, ClusterApi, namespace_of
from windlass.testing.simulator.envs import Runtimes
from windlass.testing.simulator.flows import LOCAL
from windlass.testing.simulator.handlers import Handlers
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import Process
from windlass.testing.simulator.weather import Weather

EPOCH_S = 1_800_000_000.0


class Server:
    """One server host. `process` is None while it is down."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        loop: VirtualLoop,
        database: MemoryDatabase,
        handlers: Handlers,
        runtimes: Runtimes,
        cluster: Cluster,
    ) -> None:
        self.name = name
        self._cluster = cluster
        self._runtimes = runtimes
        self.process: Process | None = None
        self._plan = plan
        self._loop = loop
        self._database = database
        self._handlers = handlers
        self._rng = plan.rng(f"server:{name}")
        self._lives = 0
        self._skew_ms = self._rng.randint(-200, 200) if plan.has("skew") else 0
        self._weather: Weather | None = None
        self._store: MemoryStore | None = None
        self._engine: Engine | None = None
        self._attempts: Attempts | None = None
        self._app: Starlette | None = None
        self._calm = False

    @property
    def engine(self) -> Engine:
        assert self._engine is not None, f"{self.name} has never been started"
        return self._engine

    @property
    def attempts(self) -> Attempts:
        assert self._attempts is not None, f"{self.name} has never been started"
        return self._attempts

    @property
    def app(self) -> Starlette:
        """The real web application, with its link."""
        assert self._app is not None, f"{self.name} has never been started"
        return self._app

    def addresses(self) -> list[str]:
        """Whom this process can tell something."""
        context: ServerContext = self.app.state.context
        told = (*context.link.addresses(), *context.places.hosts.addresses())
        return list(told) if self.process is not None else []

    def start(self) -> None:
        self._lives += 1
        name = f"{self.name}.{self._lives}"
        process = self.process = Process(self._loop, name)
        self._weather = Weather(self._loop, self._plan, name)
        self._weather.calm = self._calm
        self._store = MemoryStore(
            self._database,
            name,
            around=self._weather,
            row_locks=self._plan.row_locks,
            skew_ms=self._skew_ms,
        )
        settings = Settings(
            lease_s=self._plan.lease_s,
            sweep_s=1.0,
            look_s=3.0,
            limits=self._limits,
            image_trip_after=2 if self._plan.has("breakers") else 0,
            image_reset_s=0.7,
        )
        engine = Engine(self._store, settings, name=name, random_bits=self._rng.getrandbits)
        self._engine = engine
        self._attempts = Attempts(engine)
        execute = {f"local:{name}": self._execute for name in (*LOCAL, BASIC)}
        runner = Runner(self._attempts, name, execute, self._rng.randint(1, 4))
        link = LinkPlane(
            engine,
            self._attempts,
            LinkSettings(heartbeat_s=3.0, forget_s=1.0),
            clock=lambda: EPOCH_S + self._loop.time(),
            new_id=lambda: f"{self._rng.getrandbits(128):032x}",
        )
        options = AppOptions(auth_required=False)
        blobs = FileBlobs(Path("/nonexistent"))
        commands = Commands(engine, link)
        hosts = self._runtimes.reached_from(name)
        follower = Follower(engine, hosts)
        self._app = create_app(
            engine,
            self._attempts,
            options,
            link=link,
            commands=commands,
            blobs=blobs,
            places=Places(engine, hosts, follower),
        )
        process.spawn(run_forever(EnvOutbox(engine, follower.handlers, hosts.addresses)))
        process.spawn(run_forever(Sweep(engine, hosts, follower, pause_s=5.0)))
        doing = {COMMAND: commands.carry_out, RELEASE: link.release}
        outbox = Outbox(engine, doing, link.addresses)
        process.spawn(run_forever(outbox))
        process.spawn(engine.advance.run())
        for duty in (
            Timers(engine),
            LimitWakes(engine),
            Leases(engine),
            NoticeListener(engine),
            OrphanedTasks(engine),
        ):
            process.spawn(run_forever(duty))
        process.spawn(runner.run())
        process.spawn(run_forever(LinkLeases(link)))
        process.spawn(run_forever(LinkChecks(link)))
        process.spawn(run_forever(LinkTokens(link)))
        if self._plan.has("pods"):
            self._launch_pods(engine, process)

    def _launch_pods(self, engine: Engine, process: Process) -> None:
        plan, rng = self._plan, self._plan.rng(f"launcher:{process.name}")
        work = PodAttempts(engine)
        api = PodApi(ClusterApi(self._cluster, plan, self._loop, process.name))
        launcher = PodLauncher(
            work,
            api,
            holder=process.name,
            pods_max=rng.choice((2, 100)),
            namespaces=Namespaces({tenant: (namespace_of(tenant),) for tenant in plan.tenants}),
            endpoints={"FLOWFORGE_API_ENDPOINT": "http://windlass"},
            refused_tries=rng.choice((1, 3)),
        )
        every_s = rng.choice((0.5, 2.0))
        sync = PodSync(
            work, api, launcher, every_s=every_s, deadlines=DEADLINES, now=self._cluster.now
        )
        work.on_end.append(sync.ended)
        process.spawn(run_forever(sync))
        process.spawn(launcher.run())

    @property
    def _limits(self) -> Limits:
        return Limits(
            moves_max=self._plan.moves_max,
            branches_per_turn=self._plan.branches_per_turn,
            branches_beside=max(1, self._plan.branches_per_turn // 2),
            branches_open=self._plan.branches_open,
            visits_per_turn=self._plan.visits_per_turn,
            cancel_grace_ms=self._plan.cancel_grace_ms,
            env_lease_ms=self._runtimes.lease_ms,
            env_look_ms=self._runtimes.look_ms,
        )

    async def _execute(self, assignment: Assignment) -> Done:
        result = await self._handlers.perform(assignment.attempt_id, assignment.role)
        if isinstance(result, Failure):
            raise AttemptError(result)
        return Done(result)

    def set_clock_back(self, by_ms: int) -> None:
        """Somebody corrects this machine's clock, for the process that runs and those after it."""
        self._skew_ms -= by_ms
        if self._store is not None:
            self._store.set_clock_back(by_ms)

    def crash(self) -> None:
        if self.process is not None:
            self.process.crash()
            self.process = None
        if self._store is not None:
            self._store.drop()

    def restart(self) -> None:
        if self.process is None:
            self.start()

    def calm_down(self) -> None:
        self._calm = True
        if self._weather is not None:
            self._weather.calm = True
