"""`windlass plan`: goals that are planned, worked on and verified."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, page_url, run_id, wide_option, with_client
from windlass.cli.params import read_tags, read_value
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.views import STATE, error_line
from windlass.cli.watch import outcome_code, watch_run
from windlass.client import Client
from windlass.client.calls import get_run, start_plan
from windlass.client.durations import seconds
from windlass.client.shapes import TaskInfo
from windlass.model.values import is_object

_FIELDS = ("node", "state", "attempts", "output", "error")
_TASKS_MAX = 1_000


@click.group()
def plan() -> None:
    """Start plans for goals, and look at them. Steer them with `windlass run` and `inbox`."""


@plan.command()
@click.argument("goal")
@click.option("--plan", "document", default="", help="A plan to begin with: JSON, @file or @-.")
@click.option("-i", "--input", "given", default="", help="What the goal is about: JSON or @file.")
@click.option("--planner", default="", help="The profile that plans; planner.default.")
@click.option("--worker", default="", help="The profile that does tasks which name none.")
@click.option("--key", default="", help="Idempotency key: the same key finds the same run.")
@click.option("--tag", "tags", multiple=True, help="name=value; repeatable.")
@click.option("--priority", default=0, help="Higher goes first.")
@click.option("--watch", is_flag=True, help="Follow it to its end.")
@click.option("--wait", default="", help="Wait quietly for its end, at most so long: 30s, 10m.")
@json_option
@with_client
@click.pass_context
def start(
    ctx: click.Context,
    client: Client,
    goal: str,
    document: str,
    given: str,
    planner: str,
    worker: str,
    key: str,
    tags: tuple[str, ...],
    priority: int,
    watch: bool,
    wait: str,
    as_json: bool,
) -> None:
    """Start a run for GOAL."""
    if watch and wait:
        raise click.UsageError("give --watch or --wait, not both")
    wait_s = seconds(wait) if wait else 0.0
    call = start_plan(
        goal,
        plan=read_value(document) if document else None,
        input=read_value(given) if given else None,
        planner=planner,
        worker=worker,
        key=key,
        tags=read_tags(tags),
        priority=priority,
    )
    info = client.perform(call)
    if not watch and not wait:
        output.show_json(info) if as_json else print_line(info.id)
        print_line(f"follow it: windlass run watch {info.id}", err=True)
        return
    print_line(f"{info.id}  {page_url(client, info.id)}", err=True)
    if watch:
        ended = watch_run(client, info.id, as_json=as_json)
    else:
        ended = client.run(info.id).wait(wait_s)
        output.show_json(ended) if as_json else print_line(f"{ended.id}\t{ended.outcome}")
    ctx.exit(outcome_code(ended))


@plan.command()
@click.argument("run_ref", metavar="RUN")
@wide_option
@json_option
@with_client
def show(client: Client, run_ref: str, wide: bool, as_json: bool) -> None:
    """Show the tasks of a run's plan as they stand, and what it came to."""
    found = client.perform(get_run(run_id(client, run_ref)))
    handle = client.run(found.id)
    tasks = first(_TASKS_MAX, lambda some, cursor: handle.tasks(limit=some, cursor=cursor)).items
    planned = [task for task in tasks if "/" in task.node and task.state != "superseded"]
    hint = "it is not planned yet; see `windlass why`"
    output.show_rows(planned, _columns(), _FIELDS, as_json=as_json, wide=wide, empty=hint)
    if not as_json:
        print_line(f"{found.outcome}, planned {_times(found.revision)}", err=True)
        if found.output is not None:
            output.show_json(found.output)


def _columns() -> list[Column]:
    return [
        Column("ALIAS", lambda task: task.node.rpartition("/")[2]),
        STATE,
        Column("TRIES", lambda task: str(task.attempts), rank=2),
        Column("SUMMARY", summary_of, rank=1, bends=True),
        Column("ERROR", error_line, rank=1, bends=True),
    ]


def summary_of(task: TaskInfo) -> str:
    found = task.output.get("summary") if is_object(task.output) else None
    return found if isinstance(found, str) else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
