"""`windlass plan`: goals that are planned, worked on and verified."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, run_id, wide_option, with_client
from windlass.cli.params import read_params, read_tags, read_value
from windlass.cli.printing import print_line
from windlass.cli.starting import Start, follow, start_options
from windlass.cli.tables import Column
from windlass.cli.views import STATE, error_line
from windlass.client import Client
from windlass.client.calls import get_run
from windlass.client.plan_calls import start_plan
from windlass.client.shapes import TaskInfo
from windlass.model.ids import as_written
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
@click.option(
    "--profiles", "pods", default="", help="Profiles that are pods, by name: JSON, @file or @-."
)
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
    pods: str,
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
        profiles=read_value(pods) if pods else None,
        key=start.key,
        tags=start.tags,
        priority=start.priority,
        budget=start.budget,
        project=start.project,
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


@plan.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("task")
@click.option("--reason", default="", help="Kept with the run.")
@with_client
def cancel(client: Client, run_ref: str, task: str, reason: str) -> None:
    """Do without a TASK of a plan, by its alias; what depends on it is skipped."""
    client.run(run_id(client, run_ref)).cancel_task(task, reason)
    print_line(f"{task} is cancelled, and what depends on it skipped", err=True)


@plan.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("task")
@click.argument("question")
@click.option("--option", "pairs", multiple=True, help="id=label of an answer; repeatable.")
@click.option("--block", is_flag=True, help="Hold back the whole run until it is answered.")
@json_option
@with_client
def ask(
    client: Client,
    run_ref: str,
    task: str,
    question: str,
    pairs: tuple[str, ...],
    block: bool,
    as_json: bool,
) -> None:
    """Have a person asked before a TASK goes on; its next attempt is told the answer."""
    handle = client.run(run_id(client, run_ref))
    asked = handle.ask(task, question, options=read_tags(pairs), blocks_run=block)
    output.show_json(asked) if as_json else print_line(asked.id)


@plan.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("key", required=False, default="")
@click.option("--prefix", default="", help="Only keys that begin so.")
@click.option("--revision", type=click.IntRange(min=0), default=0, help="KEY as it stood then.")
@limit_option
@wide_option
@json_option
@with_client
def board(
    client: Client,
    run_ref: str,
    key: str,
    prefix: str,
    revision: int,
    limit: int,
    wide: bool,
    as_json: bool,
) -> None:
    """Show what stands on a RUN's blackboard, or the value of one KEY."""
    handle = client.run(run_id(client, run_ref))
    if key:
        entry = handle.board_entry(key, revision)
        output.show_json(entry if as_json else entry.payload)
        return
    found = first(limit, lambda some, at: handle.blackboard(prefix, limit=some, cursor=at))
    columns = [
        Column("KEY", lambda entry: entry.key),
        Column("REVISION", lambda entry: str(entry.revision)),
        Column("WRITER", lambda entry: entry.writer_id or entry.writer, rank=1),
    ]
    fields = ("key", "revision", "writer", "writer_id", "attempt_id", "payload", "at")
    output.show_rows(
        found.items, columns, fields, as_json=as_json, wide=wide, empty="nothing stands there"
    )
    output.say_more(found.next, limit)


@click.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("text", required=False, default="")
@click.option("-p", "--param", "pairs", multiple=True, help="name=text or name:=json to be added.")
@click.option("--task", default="", help="Add to the inputs of this task, not to the run's.")
@click.option("--replan", is_flag=True, help="Have the plan made anew; TEXT says why.")
@click.option("--plan", "document", default="", help="The plan to go on with: JSON, @file or @-.")
@with_client
def hint(
    client: Client,
    run_ref: str,
    text: str,
    pairs: tuple[str, ...],
    task: str,
    replan: bool,
    document: str,
) -> None:
    """Tell the plan of a RUN something, or have it made anew."""
    details = read_params("", pairs)
    if document:
        details["replacement_plan"] = read_value(document)
    again = replan or bool(document)
    if not again and not details:
        raise click.UsageError("give what is to be added with -p, or --replan")
    kind = "replan_request" if again else "constraint_update" if task else "context_update"
    client.run(run_id(client, run_ref)).hint(kind, text, details=details, task=task)
    told = "it is planned anew" if again else "whoever comes next is told"
    print_line(told, err=True)


def _columns() -> list[Column]:
    return [
        Column("ALIAS", lambda task: as_written(task.node.rpartition("/")[2])),
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
