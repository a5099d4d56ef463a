"""What every command that talks to a server shares: options, a client, ids."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from windlass.cli.texts import SHORT_ID, place_of, question_place
from windlass.client import Client
from windlass.client.shapes import Page
from windlass.model.errors import Conflict, NotFound
from windlass.model.ids import as_spelled, node_path

P = ParamSpec("P")
T = TypeVar("T")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def with_client(command: Callable[Concatenate[Client, P], T]) -> Callable[..., T]:
    """Give a command `--server`, `--token`, `--tls-ca`, `--tenant`, and call it with a client."""

    @click.option("--server", "--url", "server", default="", help="The server's URL.")
    @click.option("--token", default="", help="An API token; better set as WINDLASS_TOKEN.")
    @click.option("--tls-ca", default="", help="The authority that signed its certificate (PEM).")
    @click.option("--tenant", default="", help="Where an operator of the whole system acts.")
    @functools.wraps(command)
    def wrapped(
        server: str, token: str, tls_ca: str, tenant: str, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with Client(server, token, tls_ca=tls_ca, tenant=tenant) as client:
            return command(client, *args, **kwargs)

    return wrapped


def json_option(command: Callable[P, T]) -> Callable[P, T]:
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)


def limit_option(command: Callable[P, T]) -> Callable[P, T]:
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=50,
        show_default=True,
        help="At most so many.",
    )(command)


def first(limit: int, fetch: Callable[[int, str | int], Page[T]]) -> Page[T]:
    """The first `limit` things of a list, over as many pages as the server makes of them."""
    page = fetch(limit, "")
    items = list(page.items)
    while page.next is not None and len(items) < limit:
        page = fetch(limit - len(items), page.next)
        items += page.items
    return Page(items=items, next=page.next)


def wide_option(command: Callable[P, T]) -> Callable[P, T]:
    text = "Every column and whole ids, however long the lines get."
    return click.option("--wide", is_flag=True, help=text)(command)


def run_id(client: Client, given: str) -> str:
    """A run's id: `@last` is the newest run; the server completes a unique beginning."""
    if given != "@last":
        return given
    newest = client.runs(limit=1).items
    if not newest:
        raise NotFound("there are no runs yet; start one with `windlass run start FLOW`")
    return newest[0].id


def checkpoint_id(client: Client, given: str) -> str:
    """A checkpoint's id, completed from its beginning if only one open one begins so.

    Lists show `RUN~place` with the beginning of the run's id, so that is understood as well.
    """
    if given == "@last":
        newest = client.inbox(limit=1).items
        if not newest:
            raise NotFound("nothing waits for an answer")
        return newest[0].id
    run, _, place = given.partition("~")
    waiting = [item.id for item in client.inbox(limit=200).items if item.id.startswith(run)]
    exact = [item for item in waiting if place in (place_of(item), question_place(item))]
    found = exact or [item for item in waiting if place_of(item).startswith(place)]
    if len(found) > 1:
        raise Conflict(f"{len(found)} open checkpoints begin with {given}; give more of the id")
    return found[0] if found else given


def with_task(run: str, given: str | None, call: Callable[[str | None], T]) -> T:
    """Call with a task as people name it: by its id, its node, or its place in the run.

    Only the server knows whether `a.1` is a node's name, so a place is what no node is called.
    """
    try:
        return call(given)
    except NotFound:
        if given is None or given.startswith(f"{run}~"):
            raise
        head, mark, rest = given.partition("~")
        place = rest if mark and len(head) >= SHORT_ID and run.startswith(head) else given
        spelled = "~".join(as_spelled(step) for step in place.split("~"))
        path = "/".join(node_path("", step) for step in given.split("/"))
        others = (f"{run}~{place}", f"{run}~{spelled}", path, node_path("", given))
        for other in dict.fromkeys(others):
            with contextlib.suppress(NotFound):
                return call(other)
        hint = f"list them with `windlass run tasks {run[:SHORT_ID]}`"
        raise NotFound(f'the run has no task "{given}"; {hint}') from None


def page_url(client: Client, run: str) -> str:
    return f"{client.url}/runs/{run}"
