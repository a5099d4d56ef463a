"""`windlass pod`: the attempts that are pods."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.texts import first_line, short_ids
from windlass.cli.views import STATE, at
from windlass.client import Client
from windlass.client.pod_calls import KubernetesEventsInfo, PodInfo, PodPageInfo
from windlass.model.ids import as_written
from windlass.model.pod_records import EventsState
from windlass.model.states import AttemptState

_FIELDS = ("attempt_id", "run_id", "flow", "task_id", "node", "number", "namespace", "pod", "uid")
_MORE = ("image", "state", "since", "claimed_at", "stopping", "waits_for", "failure_class")
_SAID = ("reason", "progress")
_ASKED = ("cluster_node", "cpu", "memory", "gpu")


@click.group()
def pod() -> None:
    """See which attempts are pods, and how far they are."""


@pod.command("ls")
@click.argument("text", default="")
@click.option("--all", "everything", is_flag=True, help="Also those that have ended.")
@click.option(
    "--state",
    type=click.Choice([str(state) for state in AttemptState]),
    help="Only those in this state.",
)
@click.option("--namespace", default="", help="Only those in this namespace.")
@limit_option
@wide_option
@json_option
@with_client
def list_(
    client: Client,
    text: str,
    everything: bool,
    state: str | None,
    namespace: str,
    limit: int,
    wide: bool,
    as_json: bool,
) -> None:
    """List pods that live, those of the newest runs first.

    TEXT is in the run's id or in the name of the flow, the node or the pod.
    """
    pages: list[PodPageInfo] = []

    def fetch(some: int, cursor: str | int) -> PodPageInfo:
        asked = state or ("all" if everything else "")
        page = client.pods(state=asked, namespace=namespace, text=text, limit=some, cursor=cursor)
        pages.append(page)
        return page

    found = first(limit, fetch)
    output.show_rows(
        found.items,
        columns(found.items),
        (*_FIELDS, *_MORE, *_SAID),
        as_json=as_json,
        wide=wide,
        empty=none_line(pages[-1]),
    )
    output.say_more(found.next, limit)


@pod.command()
@click.argument("pod")
@json_option
@with_client
def show(client: Client, pod: str, as_json: bool) -> None:
    """Show one pod, and what happened to it.

    POD is its name or its attempt's id, as `pod ls` shows them.
    """
    found = client.pod(pod if "@" in pod else attempt_of(client, pod))
    if as_json:
        output.show_fields(found, ("pod", *_ASKED, "events", "kubernetes"), as_json=True)
        return
    output.show_fields(found.pod, (*_FIELDS, *_MORE, *_SAID), as_json=False)
    output.show_fields(found, _ASKED, as_json=False)
    for event in found.events:
        said = " ".join(filter(None, (event.state, event.node, first_line(event.message))))
        print_line(f"{at('at')(event)}\t{event.kind}\t{said}")
    print_kubernetes(found.kubernetes)


def print_kubernetes(events: KubernetesEventsInfo | None) -> None:
    """What Kubernetes itself says happened to a pod."""
    if events is None:
        return
    if events.state == EventsState.FORBIDDEN:
        print_line("Kubernetes' events may not be read: grant the server get and list of events")
        return
    if events.older:
        print_line(f"kubernetes\t{events.older} older events are not kept")
    for event in events.items:
        times = f" (x{event.count})" if event.count > 1 else ""
        said = f"{event.type} {event.reason}{times}: {first_line(event.message)}"
        print_line(f"{at('last_at')(event)}\tkubernetes\t{said}")


def attempt_of(client: Client, name: str) -> str:
    """The attempt whose pod has a name."""
    page = client.pods(state="all", text=name, limit=50)
    found = [one.attempt_id for one in page.items if one.pod == name]
    if not found:
        raise click.UsageError(f'no pod "{name}"; `windlass pod ls --all` lists them')
    return found[0]


def columns(pods: list[PodInfo]) -> list[Column]:
    short = short_ids(found.run_id for found in pods)
    return [
        Column("POD", lambda found: found.pod),
        Column("NAMESPACE", lambda found: found.namespace, rank=3),
        Column("NODE", lambda found: f"{as_written(found.node)} #{found.number}", rank=2),
        Column("RUN", lambda found: short[found.run_id], full=lambda found: found.run_id),
        Column("IMAGE", lambda found: found.image, rank=4),
        STATE,
        Column("SINCE", at("since"), rank=1),
        Column("SAYS", says, rank=1, bends=True),
    ]


def says(found: PodInfo) -> str:
    """Why it failed, what it waits for, or how far its program says it is."""
    if found.failure_class:
        return f"{found.failure_class}: {first_line(found.reason)}"
    if found.waits_for:
        return first_line(found.waits_for)
    if found.progress is None:
        return "asked to stop" if found.stopping else ""
    share = "" if found.progress.share is None else f"{found.progress.share:.0%} "
    return f"{share}{first_line(found.progress.message)}".strip()


def none_line(page: PodPageInfo) -> str:
    if page.launched:
        return "no such pods; `windlass pod ls --all` lists those that have ended too"
    waiting = f"; {page.queued} tasks wait for one" if page.queued else ""
    return f"no pods, and no server launches any: start one with --kubeconfig FILE{waiting}"
