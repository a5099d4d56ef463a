"""`windlass inbox`: answer what waits for a person."""

import click

from windlass.cli import output
from windlass.cli.api import (
    checkpoint_id,
    first,
    json_option,
    limit_option,
    wide_option,
    with_client,
)
from windlass.cli.params import read_value
from windlass.cli.printing import print_line
from windlass.cli.views import CHECKPOINT_FIELDS, checkpoint_columns
from windlass.client import Client

SHOWN = (
    "id",
    "flow",
    "node",
    "prompt",
    "show",
    "options",
    "blocks_run",
    "state",
    "created_at",
    "expires_at",
    "answer",
    "note",
    "answered_by",
    "answered_at",
)


@click.group()
def inbox() -> None:
    """Answer what waits for a person. CHECKPOINT is an id or its beginning."""


@inbox.command("ls")
@click.option(
    "--state",
    type=click.Choice(("open", "resolved", "expired", "cancelled", "all")),
    default="open",
    show_default=True,
    help="What became of them.",
)
@limit_option
@wide_option
@json_option
@with_client
def list_checkpoints(client: Client, state: str, limit: int, wide: bool, as_json: bool) -> None:
    """List what waits."""
    wanted = "" if state == "all" else state
    found = first(limit, lambda some, cursor: client.inbox(state=wanted, limit=some, cursor=cursor))
    columns = checkpoint_columns(found.items)
    hint = "nothing waits for you" if state == "open" else "there is none"
    output.show_rows(
        found.items, columns, CHECKPOINT_FIELDS, as_json=as_json, wide=wide, empty=hint
    )
    output.say_more(found.next, limit)


@inbox.command()
@click.argument("checkpoint")
@json_option
@with_client
def show(client: Client, checkpoint: str, as_json: bool) -> None:
    """Show a question, and what it shows to decide by."""
    found = client.checkpoint(checkpoint_id(client, checkpoint))
    output.show_fields(found, SHOWN, as_json=as_json)


@inbox.command()
@click.argument("checkpoint")
@click.option("-m", "--note", default="", help="Kept with the answer.")
@with_client
def approve(client: Client, checkpoint: str, note: str) -> None:
    """Say yes."""
    _answer(client, checkpoint, "approved", note)


@inbox.command()
@click.argument("checkpoint")
@click.option("-m", "--note", default="", help="Kept with the answer.")
@with_client
def reject(client: Client, checkpoint: str, note: str) -> None:
    """Say no."""
    _answer(client, checkpoint, "rejected", note)


@inbox.command()
@click.argument("checkpoint")
@click.argument("text", required=False, default="")
@click.option("-i", "--input", "value", default="", help="The answer as JSON, or @file.")
@click.option("-m", "--note", default="", help="Kept with the answer.")
@with_client
def answer(client: Client, checkpoint: str, text: str, value: str, note: str) -> None:
    """Give any other answer: TEXT (an option's id, or your own words), or JSON with -i."""
    if bool(text) == bool(value):
        raise click.UsageError("give the answer as TEXT, or as JSON with -i")
    _answer(client, checkpoint, text or read_value(value), note)


def _answer(client: Client, checkpoint: str, value: object, note: str) -> None:
    found = checkpoint_id(client, checkpoint)
    client.answer(found, value, note=note)
    print_line(f"answered {found}", err=True)
