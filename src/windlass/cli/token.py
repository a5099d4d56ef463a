"""`windlass token`: make and revoke API tokens."""

import click

from windlass.cli import output
from windlass.cli.api import json_option, with_client
from windlass.client import Client
from windlass.client.durations import seconds

ROLES = ("viewer", "operator", "worker", "admin")


@click.group()
def token() -> None:
    """Make and revoke API tokens; this needs the role admin."""


@token.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="operator", show_default=True)
@click.option("--expires", default="", help="After this time: 12h, 30d. Else never.")
@json_option
@with_client
def create(client: Client, name: str, role: str, expires: str, as_json: bool) -> None:
    """Make a token; it is shown this once."""
    expires_in_s = round(seconds(expires)) if expires else None
    made = client.create_token(name, role, expires_in_s=expires_in_s)
    if as_json:
        output.show_json(made)
        return
    click.echo(made.token)
    click.echo(f"keep it: it is not shown again; revoke it by its id {made.id}", err=True)


@token.command("ls")
@json_option
@with_client
def list_tokens(client: Client, as_json: bool) -> None:
    """List tokens, without their secrets."""
    columns = ("id", "name", "role", "created_at", "expires_at", "revoked_at")
    hint = "no tokens; make one with `windlass token create NAME`"
    output.show_rows(client.tokens().items, columns, as_json=as_json, empty=hint)


@token.command()
@click.argument("token_id", metavar="ID")
@with_client
def revoke(client: Client, token_id: str) -> None:
    """Revoke a token; it stops working at once."""
    client.revoke_token(token_id)
    click.echo(f"revoked {token_id}", err=True)
