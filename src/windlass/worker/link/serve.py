"""A link worker put together from its settings."""

from typing import cast

from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation
from windlass.protocol.link.worker import WorkerLink
from windlass.worker.link.executor import Executor
from windlass.worker.link.fit import flaw
from windlass.worker.link.health import Health
from windlass.worker.link.packages import Packages
from windlass.worker.link.runner import LinkRunner
from windlass.worker.link.settings import LinkSettings, hostname
from windlass.worker.link.socket import dial
from windlass.worker.link.tasks import Tasks

OWN_FEATURES = (
    "drain",
    "exec.cancel",
    "rebind",
    "resource.release",
    "ack.cumulative",
    "parameters.ref",
    "env",
    "desk",
)
"""What this worker understands beyond the published wire."""
PAYLOAD_TYPES = (
    "biz.exec.dispatch",
    "biz.exec.result",
    "biz.exec.feedback",
    "biz.exec.error",
    "biz.exec.next.request",
    "biz.exec.next.response",
    "biz.pkg.install",
    "biz.pkg.uninstall",
    "biz.pkg.event",
)


def link_runner(
    settings: LinkSettings, executors: list[Executor], packages: Packages
) -> LinkRunner:
    """Everything a link worker needs, put together; its packages execute beside the others."""
    executors = [*executors, packages]
    handlers: list[LinkRunner] = []
    tasks = Tasks(
        executors,
        settings.max_parallel,
        settings.per_node_limits,
        lambda result: handlers[0].report(result),
        lambda dispatch, code, text, where: handlers[0].refuse(dispatch, code, text, where),
    )
    inventory = Inventory(settings, executors)
    link = WorkerLink(
        Generation(settings.generation),
        settings.tenant,
        handshake_of(settings),
        inventory.register,
    )
    health = Health(settings.data_dir, packages.stats)
    runner = LinkRunner(
        settings, link, tasks, packages, health, dial(settings), drifted=inventory.drifted
    )
    handlers.append(runner)
    return runner


class Inventory:
    """What the server was last told is here, and whether that is still so."""

    def __init__(self, settings: LinkSettings, executors: list[Executor]) -> None:
        self._settings = settings
        self._executors = executors
        self._told: list[m.PackageField] = []

    def register(self) -> m.Register:
        self._told = packages_of(self._executors)
        return register_of(self._settings, self._executors)

    def drifted(self) -> bool:
        """Somebody else may change the folder of packages: another worker, or a person."""
        return packages_of(self._executors) != self._told


def packages_of(executors: list[Executor]) -> list[m.PackageField]:
    return [field for executor in executors for field in executor.packages()]


def handshake_of(settings: LinkSettings) -> m.Handshake:
    first = settings.generation == Generation.FIRST
    mtls = settings.auth_mode == "mtls"
    return m.Handshake(
        protocol=settings.protocol,
        auth=m.AuthField(
            mode="mtls" if mtls else "token",
            token=None if mtls else settings.token or "none",
            fingerprint=settings.fingerprint or None,
        ),
        worker=m.WorkerField(
            id=settings.worker_id if first else None,
            worker_name=None if first else settings.worker_id,
            version=settings.version,
            hostname=hostname(),
        ),
    )


def register_of(settings: LinkSettings, executors: list[Executor]) -> m.Register:
    concurrency = m.Concurrency(
        max_parallel=settings.max_parallel, per_node_limits=settings.per_node_limits or None
    )
    register = m.Register(
        capabilities=m.Capabilities(
            concurrency=concurrency,
            runtimes=settings.runtimes,
            features=[*settings.features, *OWN_FEATURES],
        ),
        packages=packages_of(executors),
        payload_types=list(PAYLOAD_TYPES) if settings.generation == Generation.SECOND else None,
        manifests=[field for executor in executors for field in executor.manifests()],
    )
    if settings.generation == Generation.FIRST and not register.packages:
        # That generation requires the list, and an empty one would be left out of the frame.
        register.packages = cast("list[m.PackageField]", ())
    if flaw(register):
        # The server knows what it published, and learns the rest from its queues.
        register.manifests = None
    return register
