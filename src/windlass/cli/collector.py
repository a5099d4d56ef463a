"""`windlass collector`: watch pods of Kubernetes and tell what became of them."""

import os
from pathlib import Path

import click
from click.core import ParameterSource

from windlass.cli.settings import setting
from windlass.model.errors import BadRequest

MISSING = (
    "Redis needs a package that is not installed; run `pip install 'windlass[redis]'`,"
    " or use --server"
)
REDIS = "127.0.0.1:6379"


@click.command()
@setting(
    "--redis",
    default="",
    also=("FLOWFORGE_REDIS_ADDRESSES",),
    metavar="URL",
    show_default=REDIS,
    help="Publish there, as redis://HOST:6379/0; several between commas are tried in turn.",
)
@setting("--server", default="", metavar="URL", help="Tell this server directly, without Redis.")
@setting("--token", default="", help="An API token for the server.")
@setting("--tls-ca", default="", help="The authority that signed the server's certificate (PEM).")
@setting("--kube-url", default="", metavar="URL", help="The Kubernetes API, as a proxy shows it.")
@setting(
    "--kubeconfig",
    default="",
    also=("FLOWFORGE_KUBERNETES_KUBECONFIG",),
    metavar="FILE",
    help="Its current context; without either, the cluster this runs in.",
)
@setting(
    "--in-cluster",
    is_flag=True,
    also=("FLOWFORGE_KUBERNETES_IN_CLUSTER",),
    help="Use the pod's service account, whatever a kubeconfig says.",
)
@setting(
    "--namespace",
    default="",
    also=("FLOWFORGE_KUBERNETES_NAMESPACE",),
    help="Only pods of this namespace; else of all.",
)
@setting(
    "--node",
    default="",
    also=("NODE_NAME",),
    help="Only pods of this node; else of the cluster, one instance at a time.",
)
@setting(
    "--spool",
    default="./.windlass/collector.db",
    show_default=True,
    metavar="FILE",
    help="Where observations are kept until they are published.",
)
@setting(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Answer GET /metrics, /healthz and /readyz on this port.",
)
@setting(
    "--metrics-host",
    default="127.0.0.1",
    show_default=True,
    help="On this address; 0.0.0.0 where a kubelet is to reach it.",
)
@setting(
    "--unschedulable-s",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds after which a pod that no node takes has failed.",
)
@setting(
    "--creating-s",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="Seconds after which a pod whose containers are not made has failed.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every detail.")
def collector(
    redis: str,
    server: str,
    token: str,
    tls_ca: str,
    kube_url: str,
    kubeconfig: str,
    in_cluster: bool,
    namespace: str,
    node: str,
    spool: str,
    metrics_port: int,
    metrics_host: str,
    unschedulable_s: float,
    creating_s: float,
    verbose: bool,
) -> None:
    """Watch pods and tell Redis or a server what became of them, until a signal.

    Pods are those labelled flowforge.io/workload=true. FLOWFORGE_REDIS_ADDRESSES,
    FLOWFORGE_KUBERNETES_* and NODE_NAME are understood.
    """
    from windlass.cli.worker import log_for_people
    from windlass.collector.serve import CollectorSettings, serve
    from windlass.collector.watch import WatchSettings
    from windlass.kube.access import find_access
    from windlass.kube.interpret import Deadlines

    server = server if goes_to_server(redis, server) else ""
    log_for_people(verbose=verbose)
    settings = CollectorSettings(
        access=find_access(kube_url, kubeconfig, in_cluster=in_cluster, env=os.environ),
        spool=Path(spool),
        namespace=namespace,
        node=node,
        metrics_host=metrics_host,
        metrics_port=metrics_port,
        deadlines=Deadlines(unschedulable_s=unschedulable_s, creating_s=creating_s),
        watch=WatchSettings(namespace=namespace, node=node),
    )
    if server:
        from windlass.collector.server_sink import ServerSink

        serve(settings, lambda: ServerSink(server, token, tls_ca))
        return
    try:
        from windlass.client.redis import redis_urls
        from windlass.collector.redis_sink import RedisSink
    except ImportError as error:
        raise BadRequest(MISSING) from error
    serve(settings, lambda: RedisSink(redis_urls(redis or REDIS)))


def goes_to_server(redis: str, server: str) -> bool:
    """Whether the server was meant: what stands on the command line wins over variables."""
    if not (redis and server):
        return bool(server)
    context = click.get_current_context()
    typed = [
        context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for name in ("redis", "server")
    ]
    if typed[0] == typed[1]:
        raise BadRequest("observations go to Redis or to a server; give --redis or --server only")
    return typed[1]
