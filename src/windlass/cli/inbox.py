"""`windlass inbox`: answer what waits for a person."""

import click

from windlass.cli import output
from windlass.cli.api import checkpoint_id, json_option, limit_option, with_client
from windlass.cli.params import read_value
from windlass.client import Client


@click.group()
def inbox() -> None:
    """Answer what waits for a person. CHECKPOINT is an id or its beginning."""


@inbox.command("ls")
@click.option("--state", default="open", show_default=True)
@limit_option
@json_option
@with_client
def list_checkpoints(client: Client, state: str, limit: int, as_json: bool) -> None:
    """List what waits."""
    found = client.inbox(state=state, limit=limit)
    columns = ("id", "flow", "node", "prompt", "state", "created_at", "expires_at")
    output.show_rows(found.items, columns, as_json=as_json, empty="nothing waits for you")


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
@click.option("-i", "--input", "value", required=True, help="The answer: JSON, or @file.")
@click.option("-m", "--note", default="", help="Kept with the answer.")
@with_client
def answer(client: Client, checkpoint: str, value: str, note: str) -> None:
    """Give any other answer."""
    _answer(client, checkpoint, read_value(value), note)


def _answer(client: Client, checkpoint: str, value: object, note: str) -> None:
    found = checkpoint_id(client, checkpoint)
    client.answer(found, value, note=note)
    click.echo(f"answered {found}", err=True)
