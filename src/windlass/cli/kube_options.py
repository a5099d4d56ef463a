"""Options of a server that launches pods."""

import click

from windlass.cli.settings import F, setting

_OPTIONS = (
    setting(
        "--kube-url",
        default="",
        metavar="URL",
        help="Launch pods by this Kubernetes API, as a proxy shows it.",
    ),
    setting("--kubeconfig", default="", metavar="FILE", help="By its current context instead."),
    setting("--kube-in-cluster", is_flag=True, help="In the cluster this server runs in."),
    setting(
        "--kube-pods",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        help="Pods that may be out at once.",
    ),
    setting(
        "--kube-refused-tries",
        type=click.IntRange(min=1),
        default=12,
        show_default=True,
        help="How often a pod that is forbidden is tried before its task fails.",
    ),
    setting(
        "--kube-token-in-env",
        is_flag=True,
        help="Put attempts' tokens into pods' variables, and not into a Secret for each pod.",
    ),
    setting(
        "--kube-namespace",
        multiple=True,
        metavar="TENANT=NAMESPACE",
        help="Where pods of a tenant may be, the first being its own; repeatable.",
    ),
    setting(
        "--kube-sync-s",
        type=click.FloatRange(min=0.1),
        default=5.0,
        show_default=True,
        help="Seconds between two looks at all pods.",
    ),
    setting(
        "--kube-unschedulable-s",
        type=click.FloatRange(min=1),
        default=300.0,
        show_default=True,
        help="Seconds after which a pod that no node takes has failed.",
    ),
    setting(
        "--kube-creating-s",
        type=click.FloatRange(min=1),
        default=120.0,
        show_default=True,
        help="Seconds after which a pod whose containers are not made has failed.",
    ),
    setting(
        "--kube-server-url",
        default="",
        metavar="URL",
        help="This server's address as pods are told it, in FLOWFORGE_API_ENDPOINT.",
    ),
)


def kube_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
