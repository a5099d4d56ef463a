"""`windlass run`: start, follow and steer runs."""

import click

from windlass.cli import output
from windlass.cli.api import (
    first,
    json_option,
    limit_option,
    run_id,
    wide_option,
    with_client,
    with_task,
)
from windlass.cli.logs import LogPrinter
from windlass.cli.params import flow_version, read_params, read_value
from windlass.cli.printing import print_line
from windlass.cli.progress import in_order, outline
from windlass.cli.start_help import StartCommand
from windlass.cli.starting import Start, follow, start_options, started
from windlass.cli.texts import SHORT_ID, written_place
from windlass.cli.views import (
    REVISION_FIELDS,
    RUN_FIELDS,
    TASK_FIELDS,
    revision_columns,
    run_columns,
    task_columns,
)
from windlass.cli.watch import outcome_code, watch_run
from windlass.client import Client, Run
from windlass.client.calls import get_run
from windlass.client.shapes import Redone
from windlass.model.log_marks import LEVELS

SHOWN = (
    "id",
    "flow",
    "version",
    "state",
    "node",
    "error",
    "failures",
    "priority",
    "created_at",
    "started_at",
    "finished_at",
    "tags",
    "params",
    "shared",
)


@click.group()
def run() -> None:
    """Start, follow and steer runs. RUN is an id, its beginning, or @last."""


@run.command("start", cls=StartCommand)
@click.argument("flow")
@click.option("-p", "--param", "pairs", multiple=True, help="name=text or name:=json; repeatable.")
@click.option("-i", "--input", "base", default="", help="All parameters: JSON, @file or @-.")
@start_options
@json_option
@with_client
def start_run(
    client: Client, flow: str, pairs: tuple[str, ...], base: str, start: Start, as_json: bool
) -> None:
    """Start a run of FLOW, or of FLOW@VERSION. With FLOW, --help lists its parameters."""
    name, version = flow_version(flow)
    handle = client.start(
        name,
        read_params(base, pairs),
        key=start.key,
        version=version,
        tags=start.tags,
        priority=start.priority,
        budget=start.budget,
        project=start.project,
    )
    follow(client, handle.info, start, as_json=as_json)


@run.command("ls")
@click.option("-q", "--query", default="", help="A filter: 'status:failed started:>-2h'.")
@limit_option
@wide_option
@json_option
@with_client
def list_runs(client: Client, query: str, limit: int, wide: bool, as_json: bool) -> None:
    """List runs, newest first."""
    found = first(limit, lambda some, cursor: client.runs(query, limit=some, cursor=cursor))
    columns = run_columns(found.items)
    hint = f"no runs match {query!r}" if query else "no runs yet; try `windlass run start FLOW`"
    output.show_rows(found.items, columns, RUN_FIELDS, as_json=as_json, wide=wide, empty=hint)
    output.say_more(found.next, limit)


@run.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def show(client: Client, run_ref: str, as_json: bool) -> None:
    """Show a run."""
    found = client.perform(get_run(run_id(client, run_ref)))
    output.show_fields(found, SHOWN, as_json=as_json, people={"state": found.outcome})
    if found.with_failures and not as_json:
        print_line("it succeeded with failures: steps failed and it went on", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
@click.pass_context
def watch(ctx: click.Context, client: Client, run_ref: str, as_json: bool) -> None:
    """Follow a run to its end; the exit code is its outcome."""
    ctx.exit(outcome_code(watch_run(client, run_id(client, run_ref), as_json=as_json)))


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.option("--state", default="", help="Only tasks in these states: failed,running.")
@limit_option
@wide_option
@json_option
@with_client
def tasks(client: Client, run_ref: str, state: str, limit: int, wide: bool, as_json: bool) -> None:
    """List a run's tasks, by their place in it.

    On a terminal, fan-outs too long for the list are shown by their counts alone.
    """
    handle = client.run(run_id(client, run_ref))
    found = first(limit, lambda some, cursor: handle.tasks(state=state, limit=some, cursor=cursor))
    hint = f"no task of the run is {state}" if state else "no tasks yet"
    items, left_out = found.items, False
    if output.is_terminal() and not as_json:
        left_out = found.next is not None and not state
        items = sorted(outline(client, handle.id) if left_out else items, key=in_order)
    output.show_rows(items, task_columns(), TASK_FIELDS, as_json=as_json, wide=wide, empty=hint)
    if left_out:
        hint = f"--state failed shows those that failed, --limit above {limit} all"
        print_line(f"the items of fan-outs are left out; {hint}", err=True)
    else:
        output.say_more(found.next, limit)


@run.command()
@click.argument("run_ref", metavar="RUN")
@limit_option
@wide_option
@json_option
@with_client
def revisions(client: Client, run_ref: str, limit: int, wide: bool, as_json: bool) -> None:
    """List how a run's graph has grown while it ran."""
    handle = client.run(run_id(client, run_ref))
    found = first(limit, lambda some, cursor: handle.revisions(limit=some, cursor=cursor))
    hint = "its graph is still its version's"
    columns = revision_columns()
    output.show_rows(found.items, columns, REVISION_FIELDS, as_json=as_json, wide=wide, empty=hint)
    output.say_more(found.next, limit)


@run.command()
@click.argument("run_refs", metavar="RUN…", nargs=-1)
@click.option("-q", "--query", default="", help="Cancel every run this filter finds.")
@click.option("--dry-run", is_flag=True, help="With -q: only count them.")
@click.option("--reason", default="", help="Kept with the run.")
@json_option
@with_client
def cancel(
    client: Client,
    run_refs: tuple[str, ...],
    query: str,
    dry_run: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Cancel runs."""
    if query and run_refs:
        raise click.UsageError("name a RUN or give a filter with -q, not both")
    if dry_run and not query:
        raise click.UsageError("--dry-run goes with -q")
    if query:
        done = client.bulk("cancel", query, dry_run=dry_run)
        output.show_fields(done, ("matched", "done", "failed"), as_json=as_json)
        return
    if not run_refs:
        raise click.UsageError("name a RUN, or give a filter with -q")
    for ref in run_refs:
        handle = client.run(run_id(client, ref))
        handle.cancel(reason)
        print_line(f"cancelling {handle.id}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("number", metavar="PRIORITY", type=int)
@with_client
def priority(client: Client, run_ref: str, number: int) -> None:
    """Let what waits of RUN go before others, or after them: higher goes first."""
    handle = client.run(run_id(client, run_ref))
    handle.set_priority(number)
    print_line(f"{handle.id} has priority {number}", err=True)


@run.command("rm")
@click.argument("run_refs", metavar="RUN…", nargs=-1, required=True)
@with_client
def delete(client: Client, run_refs: tuple[str, ...]) -> None:
    """Delete runs that have ended, with everything that is kept of them."""
    for ref in run_refs:
        handle = client.run(run_id(client, ref))
        handle.delete()
        print_line(f"deleted {handle.id}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.option("--task", default=None, help="One failed task; else the one that failed the run.")
@click.option("--from", "from_task", default=None, help="This task and everything after it.")
@click.option("--dry-run", is_flag=True, help="Only list what would be done again.")
@json_option
@with_client
def retry(
    client: Client,
    run_ref: str,
    task: str | None,
    from_task: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Try a failed task again, in the same run; good results are kept.

    A task is named by its id, its place in the run (as `run tasks` shows it) or its node.
    """
    if task and from_task:
        raise click.UsageError("give --task or --from, not both")
    handle = client.run(run_id(client, run_ref))

    def call(named: str | None) -> Redone:
        return handle.retry(named, from_=from_task is not None, dry_run=dry_run)

    done = with_task(handle.id, from_task or task, call)
    _show_redone(handle, whole_redone(done), dry_run=dry_run, as_json=as_json)


def whole_redone(done: Redone) -> Redone:
    """What is done again with the task itself first: servers list only what comes after it."""
    if not done.task:
        return done
    return Redone(
        task=done.task, redone=[done.task, *(item for item in done.redone if item != done.task)]
    )


def _show_redone(handle: Run, done: Redone, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        output.show_json(done)
    else:
        for redone in done.redone:
            print_line(written_place(redone) if output.is_terminal() else redone)
    if dry_run:
        print_line("a dry run: nothing was changed", err=True)
    else:
        print_line(f"follow it: windlass run watch {handle.id[:SHORT_ID]}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("task")
@click.option("--input", "given", default=None, metavar="JSON", help="Instead of what it had.")
@json_option
@with_client
def fork(client: Client, run_ref: str, task: str, given: str | None, as_json: bool) -> None:
    """Start another run that keeps what RUN did before TASK, and does the rest again.

    RUN must have ended. A task is named as for retry, or by its alias in a plan.
    """
    handle = client.run(run_id(client, run_ref))
    edited = {} if given is None else {"input": read_value(given)}
    fresh = with_task(handle.id, task, lambda named: handle.fork(named or task, **edited))
    output.show_json(started(fresh.info)) if as_json else print_line(fresh.id)
    print_line(f"follow it: windlass run watch {fresh.id}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def rerun(client: Client, run_ref: str, as_json: bool) -> None:
    """Start a new run with the same flow version and input."""
    fresh = client.run(run_id(client, run_ref)).rerun()
    output.show_json(started(fresh.info)) if as_json else print_line(fresh.id)
    print_line(f"follow it: windlass run watch {fresh.id}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.option("-f", "--follow", "following", is_flag=True, help="Go on until the run has ended.")
@click.option("--task", default="", help="Only of this task: a node, a place or an id.")
@click.option("--attempt", default="", help="Only of attempts with this number, or this id.")
@click.option("--level", type=click.Choice(LEVELS), help="Only what is at least so serious.")
@json_option
@with_client
def logs(
    client: Client,
    run_ref: str,
    following: bool,
    task: str,
    attempt: str,
    level: str | None,
    as_json: bool,
) -> None:
    """Show what a run's attempts logged, in the order of time, and how the bad ones ended."""
    handle = client.run(run_id(client, run_ref))
    LogPrinter(handle, task, attempt, level or "", as_json=as_json).show(follow=following)


@run.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("key")
@click.argument("value", default="true")
@click.option("--text", is_flag=True, help="VALUE is plain text, not JSON.")
@with_client
def signal(client: Client, run_ref: str, key: str, value: str, text: bool) -> None:
    """Give a waiting run a VALUE (JSON, or @file; true if left out) under KEY."""
    handle = client.run(run_id(client, run_ref))
    handle.signal(key, value if text else read_value(value))
    print_line(f"signalled {handle.id}: {key}", err=True)


@click.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def why(client: Client, run_ref: str, as_json: bool) -> None:
    """Say in one line what RUN waits for, who holds it and until when."""
    found = client.run(run_id(client, run_ref)).why()
    output.show_json(found) if as_json else print_line(found.line)
