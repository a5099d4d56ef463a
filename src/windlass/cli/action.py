"""`windlass action`: what attempts did outside, and approvals of what cannot be undone."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, run_id, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.texts import first_line
from windlass.cli.views import STATE, at
from windlass.client import Client
from windlass.client.shapes import ActionInfo, ApprovalInfo, Page
from windlass.model.ids import as_written
from windlass.model.ledger import ActionState, EffectClass

_FIELDS = ("id", "task_id", "attempt_id", "tool", "effect", "state", "summary", "input", "output")
_MORE = ("error", "approval_id", "started_at", "finished_at")
_APPROVAL_FIELDS = ("id", "task_id", "attempt_id", "state", "reason", "approved_by", "expires_at")


@click.group()
def action() -> None:
    """See what attempts did outside, and allow what cannot be undone.

    TASK is the alias of a task of a plan, or a task's id.
    """


@action.command("ls")
@click.argument("run_ref", metavar="RUN")
@click.option("--task", default="", help="Of this task only.")
@click.option("--tool", default="", help="Of this tool only.")
@click.option(
    "--effect",
    type=click.Choice([str(each) for each in EffectClass]),
    default=None,
    help="Of this class only.",
)
@click.option(
    "--state",
    type=click.Choice([*(str(each) for each in ActionState), "unknown"]),
    default=None,
    help="unknown: it may have happened, and whoever did it is gone.",
)
@limit_option
@wide_option
@json_option
@with_client
def list_actions(
    client: Client,
    run_ref: str,
    task: str,
    tool: str,
    effect: str | None,
    state: str | None,
    limit: int,
    wide: bool,
    as_json: bool,
) -> None:
    """List what the attempts of a RUN did outside, in order."""
    handle = client.run(run_id(client, run_ref))

    def fetch(some: int, cursor: str | int) -> Page[ActionInfo]:
        return handle.actions(
            task=task,
            tool=tool,
            effect=effect or "",
            state=state or "",
            limit=some,
            cursor=cursor,
        )

    found = first(limit, fetch)
    columns = [
        Column("TASK", lambda row: as_written(row.task_id.rpartition("~")[2])),
        Column("TOOL", lambda row: row.tool),
        Column("EFFECT", lambda row: row.effect, rank=1),
        STATE,
        Column("BEGAN", at("started_at"), rank=2),
        Column("SUMMARY", lambda row: first_line(row.error or row.summary), rank=1, bends=True),
    ]
    output.show_rows(
        found.items,
        columns,
        (*_FIELDS, *_MORE),
        as_json=as_json,
        wide=wide,
        empty="nothing was done outside, or its workers do not say",
    )
    output.say_more(found.next, limit)


@action.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("task")
@click.option("--reason", required=True, help="Why it is allowed; kept with the approval.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds for which it holds.",
)
@json_option
@with_client
def approve(
    client: Client, run_ref: str, task: str, reason: str, seconds: float, as_json: bool
) -> None:
    """Allow the attempt a TASK has, or has next, one thing that cannot be undone.

    Prints the token, this once: hand it to whoever does the work.
    """
    made = client.run(run_id(client, run_ref)).approve(task, reason, expires_in_s=seconds)
    if as_json:
        output.show_json(made)
        return
    print_line(f"for {made.attempt_id} only, once, for {seconds:g} s", err=True)
    print_line(made.token or "")


@action.command()
@click.argument("run_ref", metavar="RUN")
@click.option("--task", default="", help="Of this task only.")
@limit_option
@wide_option
@json_option
@with_client
def approvals(
    client: Client, run_ref: str, task: str, limit: int, wide: bool, as_json: bool
) -> None:
    """List what was allowed in a RUN, the newest first."""
    handle = client.run(run_id(client, run_ref))

    def fetch(some: int, cursor: str | int) -> Page[ApprovalInfo]:
        return handle.approvals(task=task, limit=some, cursor=cursor)

    found = first(limit, fetch)
    columns = [
        Column("APPROVAL", lambda row: row.id),
        Column("ATTEMPT", lambda row: row.attempt_id.rpartition("~")[2], rank=1),
        STATE,
        Column("BY", lambda row: row.approved_by, rank=2),
        Column("EXPIRES", at("expires_at"), rank=1),
        Column("REASON", lambda row: first_line(row.reason), bends=True),
    ]
    output.show_rows(
        found.items, columns, _APPROVAL_FIELDS, as_json=as_json, wide=wide, empty="nothing"
    )
    output.say_more(found.next, limit)


@action.command()
@click.argument("run_ref", metavar="RUN")
@click.argument("approval")
@with_client
def revoke(client: Client, run_ref: str, approval: str) -> None:
    """Take back an APPROVAL that nobody has used."""
    client.run(run_id(client, run_ref)).revoke(approval)
    print_line("revoked", err=True)
