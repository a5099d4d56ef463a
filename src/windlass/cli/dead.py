"""`windlass dead`: what was given up for good, and taking it up again."""

import functools
from collections.abc import Callable
from typing import Any

import click
import msgspec

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, run_id, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.texts import first_line
from windlass.cli.views import at
from windlass.client import Client
from windlass.client.dead_letters import LetterFilter
from windlass.client.shapes import DeadLetterInfo, DeadLettersDone, Page

FIELDS = (
    "id",
    "kind",
    "run_id",
    "flow",
    "name",
    "failure_class",
    "message",
    "tries",
    "died_at",
)


@click.group()
def dead() -> None:
    """Look at what was given up for good; replay it, or drop it.

    A letter is a task that failed for the last time, or something that was to be done outside and
    could not be. LETTER is its id, as `dead ls` shows it.
    """


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say which letters are meant, given to a command as one filter."""

    @click.option("--kind", type=click.Choice(("task", "effect")), help="Of this kind only.")
    @click.option("--run", "run_ref", default="", help="Of this run; @last is the newest.")
    @click.option("--flow", default="", help="Of runs of this flow.")
    @click.option("--node", "name", default="", help="Of this node.")
    @click.option("--class", "failure_class", default="", help="Failed so: timeout, fatal, a code.")
    @functools.wraps(command)
    def wrapped(
        client: Client,
        *args: Any,
        kind: str | None,
        run_ref: str,
        flow: str,
        name: str,
        failure_class: str,
        **kwargs: Any,
    ) -> Any:
        run = run_id(client, run_ref) if run_ref else ""
        given = LetterFilter(
            kind=kind or "", run=run, flow=flow, name=name, failure_class=failure_class
        )
        return command(client, *args, given=given, **kwargs)

    return wrapped


@dead.command("ls")
@limit_option
@wide_option
@json_option
@with_client
@filter_options
def list_letters(
    client: Client, given: LetterFilter, limit: int, wide: bool, as_json: bool
) -> None:
    """List dead letters, those of the newest runs first."""

    def fetch(some: int, cursor: str | int) -> Page[DeadLetterInfo]:
        return client.dead_letters(given, limit=some, cursor=cursor)

    found = first(limit, fetch)
    output.show_rows(
        found.items, columns(), FIELDS, as_json=as_json, wide=wide, empty="nothing is dead"
    )
    output.say_more(found.next, limit)


def columns() -> list[Column]:
    return [
        Column("LETTER", lambda letter: letter.id),
        Column("KIND", lambda letter: letter.kind, rank=2),
        Column("FLOW", lambda letter: letter.flow, rank=1),
        Column("CLASS", lambda letter: letter.failure_class),
        Column("TRIES", lambda letter: str(letter.tries), rank=2),
        Column("DIED", at("died_at"), rank=1),
        Column("MESSAGE", lambda letter: first_line(letter.message)),
    ]


@dead.command()
@click.argument("letter")
@json_option
@with_client
def show(client: Client, letter: str, as_json: bool) -> None:
    """Show one dead letter: its last tries, and what can be done."""
    found = client.dead_letter(letter)
    output.show_fields(found, (*FIELDS, "next_move", "advice"), as_json=as_json)
    for line in found.history if not as_json else ():
        said = first_line(line.message)
        print_line(f"try {line.number}\t{line.failure_class}\t{line.by}\t{said}")


_ALL = click.option("--all", "every", is_flag=True, help="Every letter there is.")
_DRY = click.option("--dry-run", is_flag=True, help="Only count what is meant.")


@dead.command()
@click.argument("letters", nargs=-1, metavar="[LETTER]...")
@_ALL
@click.option("--from", "from_", is_flag=True, help="Also redo what came after, if a run went on.")
@_DRY
@json_option
@with_client
@filter_options
@click.pass_context
def replay(
    ctx: click.Context,
    client: Client,
    letters: tuple[str, ...],
    given: LetterFilter,
    every: bool,
    from_: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Try again: the letters named, or all that the options mean."""

    def act(cursor: str, before: int | None) -> DeadLettersDone:
        return client.replay_dead_letters(
            letters,
            widened(given, every),
            from_=from_,
            cursor=cursor,
            before=before,
            dry_run=dry_run,
        )

    ctx.exit(report("replayed", all_of(act), dry_run=dry_run, as_json=as_json))


@dead.command()
@click.argument("letters", nargs=-1, metavar="[LETTER]...")
@_ALL
@_DRY
@json_option
@with_client
@filter_options
@click.pass_context
def drop(
    ctx: click.Context,
    client: Client,
    letters: tuple[str, ...],
    given: LetterFilter,
    every: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let letters go: those named, or all that the options mean. Tasks stay failed."""

    def act(cursor: str, before: int | None) -> DeadLettersDone:
        return client.drop_dead_letters(
            letters, widened(given, every), cursor=cursor, before=before, dry_run=dry_run
        )

    ctx.exit(report("dropped", all_of(act), dry_run=dry_run, as_json=as_json))


def widened(given: LetterFilter, every: bool) -> LetterFilter:
    return msgspec.structs.replace(given, all=every)


def all_of(act: Callable[[str, int | None], DeadLettersDone]) -> DeadLettersDone:
    """Do it to all that is meant, as many at a time as the server takes. What dies meanwhile is
    not meant."""
    total = part = act("", None)
    while part.next is not None:
        part = act(part.next, part.before)
        total = DeadLettersDone(
            matched=total.matched + part.matched,
            done=total.done + part.done,
            refused=[*total.refused, *part.refused],
            next=None,
            before=total.before,
        )
    return total


def report(verb: str, done: DeadLettersDone, *, dry_run: bool, as_json: bool) -> int:
    """Say what came of it; returns the exit code."""
    if as_json:
        output.show_json(done)
    elif dry_run:
        print_line(f"{done.matched} would be {verb}")
    else:
        print_line(f"{verb} {done.done} of {done.matched}")
        for refused in done.refused:
            print_line(f"{refused.id}: {refused.detail}", err=True)
    return 3 if done.refused else 0
