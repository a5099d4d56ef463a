"""`windlass user`: people who sign in with a password."""

import sys

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.views import USER_FIELDS, user_columns
from windlass.client import Client
from windlass.client.shapes import Page

ROLES = ("admin", "workflow.editor", "workflow.viewer", "run.viewer", "worker")


def read_password(*, from_stdin: bool) -> str:
    """A password, asked for twice on a terminal, or the first line of what is piped in."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    found: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return found


stdin_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input."
)


@click.group()
def user() -> None:
    """Add and change users; this needs the role admin."""


@user.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    type=click.Choice(ROLES),
    multiple=True,
    help="What they may do; repeatable.",
)
@click.option("--display-name", default="", help="What they are called; else their name.")
@stdin_option
@json_option
@with_client
def create(
    client: Client,
    name: str,
    roles: tuple[str, ...],
    display_name: str,
    password_stdin: bool,
    as_json: bool,
) -> None:
    """Add a user."""
    password = read_password(from_stdin=password_stdin)
    made = client.create_user(name, password, roles=roles, display_name=display_name)
    output.show_fields(made, USER_FIELDS, as_json=as_json)


@user.command("ls")
@click.option("-q", "--query", default="", help="Only names with this text in them.")
@limit_option
@wide_option
@json_option
@with_client
def list_users(client: Client, query: str, limit: int, wide: bool, as_json: bool) -> None:
    """List users."""

    def fetch(some: int, cursor: str | int) -> Page[object]:
        page = client.users(query, limit=some, cursor=cursor)
        return Page(items=list(page.items), next=page.next_cursor)

    found = first(limit, fetch)
    hint = "no users; add one with `windlass user create NAME --role admin`"
    output.show_rows(
        found.items, user_columns(), USER_FIELDS, as_json=as_json, wide=wide, empty=hint
    )
    output.say_more(found.next, limit)


@user.command()
@click.argument("name")
@stdin_option
@with_client
def passwd(client: Client, name: str, password_stdin: bool) -> None:
    """Give a user another password; their sessions end."""
    client.set_password(name, read_password(from_stdin=password_stdin))
    print_line(f"{name} has a new password", err=True)


@user.command()
@click.argument("name")
@with_client
def disable(client: Client, name: str) -> None:
    """Keep a user out; their sessions end within seconds."""
    client.set_active(name, False)
    print_line(f"{name} is disabled", err=True)


@user.command()
@click.argument("name")
@with_client
def enable(client: Client, name: str) -> None:
    """Let a user in again."""
    client.set_active(name, True)
    print_line(f"{name} is enabled", err=True)
