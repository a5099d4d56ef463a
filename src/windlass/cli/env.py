"""`windlass env`: what places there may be, those that are leased, and a look into them."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, run_id, wide_option, with_client
from windlass.cli.env_shell import Shell, lines_of, listen, told_code
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.texts import first_line
from windlass.cli.views import STATE, at
from windlass.client import Client
from windlass.client.env_shapes import EnvFilesInfo, EnvResourceInfo, EnvSessionInfo
from windlass.client.shapes import Page
from windlass.model.envs import KINDS
from windlass.model.errors import NotFound

_FIELDS = ("name", "kind", "status", "in_use", "capacity", "waiting", "missing")
_MORE = ("config", "metadata", "created_at", "created_by")
_SESSION_FIELDS = ("id", "resource", "kind", "state", "run_id", "task_id", "attempt_id", "epoch")
_SESSION_MORE = ("host", "place", "details", "reason", "drift", "expires_at", "created_at")


@click.group()
def env() -> None:
    """Make environments, and look into those that are leased.

    A resource says what a place is, such as a container of an image, and how many there may be at
    once. A session is one place while it belongs to a task. SESSION is its id as `env ls
    --sessions` shows it, or the name of a resource that has only one.
    """


@env.command("create")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What its places are.")
@click.option(
    "--capacity",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many there may be at once.",
)
@click.option("--config", default="{}", help="What a place is like: JSON, or @FILE.")
@json_option
@with_client
def create(client: Client, name: str, kind: str, capacity: int, config: str, as_json: bool) -> None:
    """Make the resource NAME, as in `--kind container --config '{"image": "debian:12"}'`."""
    made = client.create_env_resource(name, kind, capacity=capacity, config=read_config(config))
    output.show_fields(made, (*_FIELDS, *_MORE), as_json=as_json)


@env.command("set")
@click.argument("name")
@click.option("--capacity", type=click.IntRange(min=1), help="How many there may be at once.")
@click.option("--config", help="What new places are like: JSON, or @FILE.")
@click.option(
    "--status",
    type=click.Choice(("active", "disabled", "archived")),
    help="disabled: sessions end, none begin.",
)
@json_option
@with_client
def change(
    client: Client,
    name: str,
    capacity: int | None,
    config: str | None,
    status: str | None,
    as_json: bool,
) -> None:
    """Change the resource NAME; what is not named stays."""
    given = None if config is None else read_config(config)
    made = client.change_env_resource(name, capacity=capacity, config=given, status=status)
    output.show_fields(made, (*_FIELDS, *_MORE), as_json=as_json)


@env.command("rm")
@click.argument("name")
@with_client
def remove(client: Client, name: str) -> None:
    """Delete the resource NAME, if it has no sessions."""
    client.delete_env_resource(name)
    print_line(f"{name} is gone")


@env.command("ls")
@click.option("--sessions", is_flag=True, help="The sessions rather than the resources.")
@click.option("--resource", default="", help="Sessions of this resource only.")
@click.option("--run", "run_ref", default="", help="Sessions of this run; @last is the newest.")
@click.option("--all", "everything", is_flag=True, help="Also sessions that are over.")
@limit_option
@wide_option
@json_option
@with_client
def list_(
    client: Client,
    sessions: bool,
    resource: str,
    run_ref: str,
    everything: bool,
    limit: int,
    wide: bool,
    as_json: bool,
) -> None:
    """List resources with what is leased of each; with --sessions what is leased."""
    if sessions or resource or run_ref or everything:
        run = run_id(client, run_ref) if run_ref else ""
        state = "all" if everything else ""

        def fetch_sessions(some: int, cursor: str | int) -> Page[EnvSessionInfo]:
            return client.env_sessions(
                resource=resource, run=run, state=state, limit=some, cursor=cursor
            )

        show_sessions(first(limit, fetch_sessions), limit, wide=wide, as_json=as_json)
        return

    def fetch(some: int, cursor: str | int) -> Page[EnvResourceInfo]:
        return client.env_resources(limit=some, cursor=cursor)

    found = first(limit, fetch)
    columns = [
        Column("NAME", lambda row: row.name),
        Column("KIND", lambda row: row.kind),
        Column("STATUS", lambda row: row.status, rank=1),
        Column("LEASED", lambda row: f"{row.in_use} of {row.capacity}"),
        Column("WAITING", lambda row: str(row.waiting)),
        Column("MISSING", lambda row: first_line(row.missing), rank=1, bends=True),
    ]
    output.show_rows(
        found.items,
        columns,
        (*_FIELDS, *_MORE),
        as_json=as_json,
        wide=wide,
        empty="no resources; make one with `windlass env create py --kind container --config …`",
    )
    output.say_more(found.next, limit)


def show_sessions(found: Page[EnvSessionInfo], limit: int, *, wide: bool, as_json: bool) -> None:
    columns = [
        Column("SESSION", lambda row: row.id),
        Column("RESOURCE", lambda row: row.resource),
        STATE,
        Column("EPOCH", lambda row: str(row.epoch), rank=2),
        Column("HOST", lambda row: row.host, rank=2),
        Column("MADE", at("created_at"), rank=1),
    ]
    output.show_rows(
        found.items,
        columns,
        (*_SESSION_FIELDS, *_SESSION_MORE),
        as_json=as_json,
        wide=wide,
        empty="nothing is leased",
    )
    output.say_more(found.next, limit)


@env.command("show")
@click.argument("name")
@json_option
@with_client
def show(client: Client, name: str, as_json: bool) -> None:
    """Show the resource or session NAME."""
    if "!" in name:
        session = client.env_session(name)
        fields = (*_SESSION_FIELDS, *_SESSION_MORE, "snapshots")
        output.show_fields(session, fields, as_json=as_json)
        if not as_json and session.snapshots:
            print_files(session.snapshots[-1].files)
    else:
        output.show_fields(client.env_resource(name), (*_FIELDS, *_MORE), as_json=as_json)


def print_files(files: EnvFilesInfo | None) -> None:
    """What has changed in a place since it was made, a line for each file."""
    if files is None:
        return
    for mark, paths in (("+", files.added), ("~", files.changed), ("-", files.removed)):
        for path in paths:
            print_line(f"{mark} {path}")
    if files.more:
        print_line(f"and {files.more:,} more files")


@env.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("session")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds it may take.",
)
@with_client
def exec_(client: Client, session: str, command: tuple[str, ...], timeout_s: float) -> None:
    """Run a COMMAND in a SESSION, beside whatever happens there; Ctrl-C ends it."""
    wanted = one_session(client, session)
    sys.exit(told_code(listen(client, wanted, list(command), timeout_s)))


@env.command("shell")
@click.argument("session")
@with_client
def shell(client: Client, session: str) -> None:
    """Run one line after the other in a SESSION with its shell, until `exit` or the end of input.

    What a line says is printed as it says it, and Ctrl-C ends it. A line that begins with `cd`
    moves all that follow; variables last for their line only.
    """
    wanted = one_session(client, session)
    opened = Shell(client, wanted)
    for line in lines_of(opened, wanted.rpartition("~")[2]):
        opened.run(line)
    sys.exit(opened.code)


@env.command("release")
@click.argument("session")
@click.option("--reason", default="", help="Why; kept with the session.")
@with_client
def release(client: Client, session: str, reason: str) -> None:
    """Have a SESSION given back that no attempt works in: held, kept, or not claimed yet."""
    wanted = one_session(client, session)
    client.release_env_session(wanted, reason)
    print_line(f"{wanted} is given back")


def one_session(client: Client, named: str) -> str:
    """A session by its id, or by the resource that has no other."""
    if "!" in named:
        return named
    found = client.env_sessions(resource=named, limit=2).items
    if len(found) != 1:
        count = "no" if not found else "more than one"
        hint = f"windlass env ls --sessions --resource {shlex.quote(named)}"
        raise NotFound(f'"{named}" has {count} session; see `{hint}`')
    return found[0].id


def read_config(given: str) -> dict[str, Any]:
    text = Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise click.UsageError(f"--config is no JSON object: {error}") from None
