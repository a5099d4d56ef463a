"""What every command that talks to a server shares: options, a client, ids."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from windlass.client import Client
from windlass.model.errors import NotFound

P = ParamSpec("P")
T = TypeVar("T")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def with_client(command: Callable[Concatenate[Client, P], T]) -> Callable[..., T]:
    """Give a command `--server` and `--token`, and call it with a client."""

    @click.option("--server", "--url", "server", default="", help="The server's URL.")
    @click.option("--token", default="", help="An API token; better set as WINDLASS_TOKEN.")
    @functools.wraps(command)
    def wrapped(server: str, token: str, *args: P.args, **kwargs: P.kwargs) -> T:
        with Client(server, token) as client:
            return command(client, *args, **kwargs)

    return wrapped


def json_option(command: Callable[P, T]) -> Callable[P, T]:
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)


def limit_option(command: Callable[P, T]) -> Callable[P, T]:
    return click.option("--limit", default=50, show_default=True, help="At most so many.")(command)


def run_id(client: Client, given: str) -> str:
    """A run's id: `@last` is the newest run; the server completes a unique beginning."""
    if given != "@last":
        return given
    newest = client.runs(limit=1).items
    if not newest:
        raise NotFound("there are no runs yet; start one with `windlass run start FLOW`")
    return newest[0].id


def checkpoint_id(client: Client, given: str) -> str:
    """A checkpoint's id, completed from its beginning if only one open one begins so."""
    found = [item.id for item in client.inbox(limit=200).items if item.id.startswith(given)]
    if given == "@last":
        found = [item.id for item in client.inbox(limit=1).items]
    if len(found) > 1 and given not in found:
        raise NotFound(f"{len(found)} open checkpoints begin with {given}; give more of the id")
    return found[0] if len(found) == 1 else given


def page_url(client: Client, run: str) -> str:
    return f"{client.url}/runs/{run}"
