"""`windlass run`: start, follow and steer runs."""

import click

from windlass.cli import output
from windlass.cli.api import json_option, limit_option, page_url, run_id, with_client
from windlass.cli.params import read_params, read_tags, read_value
from windlass.cli.watch import outcome_code, watch_run
from windlass.client import Client
from windlass.client.calls import get_run

RUN_FIELDS = (
    "id",
    "flow",
    "version",
    "state",
    "node",
    "error",
    "failures",
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


@run.command()
@click.argument("flow")
@click.option("-p", "--param", "pairs", multiple=True, help="name=text or name:=json; repeatable.")
@click.option("-i", "--input", "base", default="", help="All parameters: JSON, @file or @-.")
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
    flow: str,
    pairs: tuple[str, ...],
    base: str,
    key: str,
    tags: tuple[str, ...],
    priority: int,
    watch: bool,
    wait: str,
    as_json: bool,
) -> None:
    """Start a run of FLOW, or of FLOW@VERSION."""
    name, _, wanted = flow.partition("@")
    handle = client.start(
        name,
        read_params(base, pairs),
        key=key,
        version=int(wanted) if wanted.isdecimal() else None,
        tags=read_tags(tags),
        priority=priority,
    )
    if not watch and not wait:
        output.show_json(handle.info) if as_json else click.echo(handle.id)
        click.echo(f"follow it: windlass run watch {handle.id}", err=True)
        return
    click.echo(f"{handle.id}  {page_url(client, handle.id)}", err=True)
    if watch:
        ended = watch_run(client, handle.id, as_json=as_json)
    else:
        ended = handle.wait(wait)
        output.show_json(ended) if as_json else click.echo(f"{ended.id}\t{ended.state}")
    ctx.exit(outcome_code(ended))


@run.command("ls")
@click.option("-q", "--query", default="", help="A filter: 'status:failed started:>-2h'.")
@limit_option
@json_option
@with_client
def list_runs(client: Client, query: str, limit: int, as_json: bool) -> None:
    """List runs, newest first."""
    found = client.runs(query, limit=limit)
    columns = ("id", "flow", "version", "state", "created_at", "finished_at", "error")
    hint = f"no runs match {query!r}" if query else "no runs yet; try `windlass run start FLOW`"
    output.show_rows(found.items, columns, as_json=as_json, empty=hint)
    if found.next is not None:
        click.echo(f"there are more; raise --limit above {limit} or narrow -q", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def show(client: Client, run_ref: str, as_json: bool) -> None:
    """Show a run."""
    found = client.perform(get_run(run_id(client, run_ref)))
    output.show_fields(found, RUN_FIELDS, as_json=as_json)


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
@click.option("--state", default="", help="Only tasks in this state.")
@limit_option
@json_option
@with_client
def tasks(client: Client, run_ref: str, state: str, limit: int, as_json: bool) -> None:
    """List a run's tasks."""
    handle = client.run(run_id(client, run_ref))
    found = handle.tasks(state=state, limit=limit)
    columns = ("id", "node", "kind", "state", "attempts", "started_at", "finished_at", "error")
    output.show_rows(found.items, columns, as_json=as_json, empty="no tasks")


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
    if query:
        done = client.bulk("cancel", query, dry_run=dry_run)
        output.show_fields(done, ("matched", "done", "failed"), as_json=as_json)
        return
    if not run_refs:
        raise click.UsageError("name a RUN, or give a filter with -q")
    for ref in run_refs:
        handle = client.run(run_id(client, ref))
        handle.cancel(reason)
        click.echo(f"cancelling {handle.id}", err=True)


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
    """Try a failed task again, in the same run; good results are kept."""
    handle = client.run(run_id(client, run_ref))
    descendants = from_task is not None
    done = handle.retry(from_task or task, from_=descendants, dry_run=dry_run)
    if as_json:
        output.show_json(done)
        return
    for redone in done.redone or [done.task or ""]:
        click.echo(redone)
    click.echo(f"follow it: windlass run watch {handle.id}", err=True)


@run.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def rerun(client: Client, run_ref: str, as_json: bool) -> None:
    """Start a new run with the same flow version and input."""
    fresh = client.run(run_id(client, run_ref)).rerun()
    output.show_json(fresh.info) if as_json else click.echo(fresh.id)


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
    click.echo(f"signalled {handle.id}: {key}", err=True)


@click.command()
@click.argument("run_ref", metavar="RUN")
@json_option
@with_client
def why(client: Client, run_ref: str, as_json: bool) -> None:
    """Say in one line what RUN waits for, who holds it and until when."""
    found = client.run(run_id(client, run_ref)).why()
    output.show_json(found) if as_json else click.echo(found.line)
