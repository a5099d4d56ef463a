"""`windlass plan`: goals that are planned, worked on and verified."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, run_id, wide_option, with_client
from windlass.cli.params import read_value
from windlass.cli.printing import print_line
from windlass.cli.starting import Start, follow, start_options
from windlass.cli.tables import Column
from windlass.cli.views import STATE, error_line
from windlass.client import Client
from windlass.client.calls import get_run, start_plan
from windlass.client.shapes import TaskInfo
from windlass.model.values import is_object

_FIELDS = ("node", "state", "attempts", "output", "error")
_TASKS_MAX = 1_000


@click.group()
def plan() -> None:
    """Start plans for goals, and look at them. Steer them with `windlass run` and `inbox`."""


@plan.command("start")
@click.argument("goal")
@click.option("--plan", "document", default="", help="A plan to begin with: JSON, @file or @-.")
@click.option("-i", "--input", "given", default="", help="What the goal is about: JSON or @file.")
@click.option("--planner", default="", help="The profile that plans; planner.default.")
@click.option("--worker", default="", help="The profile that does tasks which name none.")
@start_options
@json_option
@with_client
def start_goal(
    client: Client,
    goal: str,
    document: str,
    given: str,
    planner: str,
    worker: str,
    start: Start,
    as_json: bool,
) -> None:
    """Start a run for GOAL."""
    call = start_plan(
        goal,
        plan=read_value(document) if document else None,
        input=read_value(given) if given else None,
        planner=planner,
        worker=worker,
        key=start.key,
        tags=start.tags,
        priority=start.priority,
    )
    follow(client, client.perform(call), start, as_json=as_json)


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
