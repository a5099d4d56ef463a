"""`windlass token`: make and revoke API tokens."""

import click
from msgspec.structs import replace

from windlass.cli import output
from windlass.cli.api import json_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.views import TOKEN_FIELDS, token_columns
from windlass.client import Client
from windlass.client.durations import seconds
from windlass.client.shapes import TokenInfo

ROLES = ("viewer", "operator", "worker", "admin")


@click.group()
def token() -> None:
    """Make and revoke API tokens; this needs the role admin."""


@token.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    default="operator",
    show_default=True,
    help="What its bearer may do.",
)
@click.option("--expires", default="", help="After this time: 12h, 30d. Else never.")
@click.option("--fingerprint", default="", help="SHA-256 of a certificate that stands for it.")
@click.option("--worker", "workers", default="", help="The only worker it is for: NAME or PREFIX*.")
@click.option("--system", is_flag=True, help="For an operator of the whole system.")
@json_option
@with_client
def create(
    client: Client,
    name: str,
    role: str,
    expires: str,
    fingerprint: str,
    workers: str,
    system: bool,
    as_json: bool,
) -> None:
    """Make a token; it is shown this once."""
    expires_in_s = round(seconds(expires)) if expires else None
    made = client.create_token(
        name,
        role,
        expires_in_s=expires_in_s,
        fingerprint=fingerprint,
        workers=workers,
        tenant="*" if system else "",
    )
    if as_json:
        output.show_json(_whole(client, made, name, role))
        return
    if fingerprint:
        print_line(f"the certificate is known as {made.id}, which revokes it", err=True)
        return
    print_line(made.token)
    print_line(f"keep it: it is not shown again; revoke it by its id {made.id}", err=True)


def _whole(client: Client, made: TokenInfo, name: str, role: str) -> TokenInfo:
    """The answer to a creation, which is an id and the secret, with all that is known of it."""
    listed = next((item for item in client.tokens().items if item.id == made.id), made)
    return replace(listed, name=listed.name or name, role=listed.role or role, token=made.token)


@token.command("ls")
@wide_option
@json_option
@with_client
def list_tokens(client: Client, wide: bool, as_json: bool) -> None:
    """List tokens, without their secrets."""
    hint = "no tokens; make one with `windlass token create NAME`"
    found = client.tokens().items
    output.show_rows(found, token_columns(), TOKEN_FIELDS, as_json=as_json, wide=wide, empty=hint)


@token.command()
@click.argument("token_id", metavar="ID")
@with_client
def revoke(client: Client, token_id: str) -> None:
    """Revoke a token; it stops working at once."""
    client.revoke_token(token_id)
    print_line(f"revoked {token_id}", err=True)
