"""The launcher of pods that a server's options ask for."""

from windlass.drivers.dispatch.pod_api import PodApi
from windlass.drivers.dispatch.pod_launcher import Namespaces, PodLauncher
from windlass.drivers.dispatch.pod_sync import PodSync
from windlass.engine.engine import Engine
from windlass.engine.pods import PodAttempts
from windlass.kube.access import find_access
from windlass.kube.api import KubeApi
from windlass.kube.interpret import Deadlines
from windlass.model.errors import BadRequest
from windlass.wiring.options import ServerOptions


def launches(options: ServerOptions) -> bool:
    return bool(options.kube_url or options.kubeconfig or options.kube_in_cluster)


def make_launcher(engine: Engine, options: ServerOptions) -> tuple[PodLauncher, PodSync]:
    """What claims tasks and makes pods of them, and what looks after those."""
    access = find_access(options.kube_url, options.kubeconfig, in_cluster=options.kube_in_cluster)
    work = PodAttempts(engine)
    api = PodApi(KubeApi(access))
    url = options.kube_server_url
    launcher = PodLauncher(
        work,
        api,
        holder=engine.name,
        pods_max=options.kube_pods,
        namespaces=read_namespaces(options.kube_namespace),
        endpoints={"FLOWFORGE_API_ENDPOINT": url} if url else {},
        refused_tries=options.kube_refused_tries,
        token_in_env=options.kube_token_in_env,
    )
    deadlines = Deadlines(
        unschedulable_s=options.kube_unschedulable_s, creating_s=options.kube_creating_s
    )
    sync = PodSync(
        work,
        api,
        launcher,
        every_s=options.kube_sync_s,
        deadlines=deadlines,
        secrets=bool(url) and not options.kube_token_in_env,
    )
    work.on_end.append(sync.ended)
    return launcher, sync


def read_namespaces(given: tuple[str, ...]) -> Namespaces:
    allowed: dict[str, tuple[str, ...]] = {}
    for item in (part for text in given for part in text.split(",") if part):
        tenant, equals, namespace = item.partition("=")
        if not (tenant and equals and namespace):
            raise BadRequest(f"--kube-namespace {item!r}: write it as TENANT=NAMESPACE")
        allowed[tenant] = (*allowed.get(tenant, ()), namespace)
    return Namespaces(allowed)
