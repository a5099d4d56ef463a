"""What commands that start a run share: their options, and how they follow what they started."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from windlass.cli import output
from windlass.cli.api import page_url
from windlass.cli.params import read_tags
from windlass.cli.printing import print_line
from windlass.cli.watch import outcome_code, watch_run
from windlass.client import Client
from windlass.client.durations import seconds
from windlass.client.shapes import RunInfo

T = TypeVar("T")

_ENDLESS = "inf"


def wait_of(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """How long to wait. Without a time, `--wait` takes the word behind it for one."""
    try:
        return float(text) if text == _ENDLESS else seconds(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}, or let --wait be the last word") from None


_OPTIONS = (
    click.option("--key", default="", help="Idempotency key: the same key finds the same run."),
    click.option("--tag", "tags", multiple=True, help="name=value; repeatable."),
    click.option("--priority", default=0, help="Higher goes first."),
    click.option("--budget", "budget", multiple=True, help="tokens=5000, money, …; repeatable."),
    click.option("--project", default="", help="Whose quotas it is under, within the tenant."),
    click.option("--watch", is_flag=True, help="Follow it to its end."),
    click.option(
        "--wait",
        default="0",
        is_flag=False,
        flag_value=_ENDLESS,
        callback=wait_of,
        help="Wait quietly for its end, or at most so long: 30s, 10m.",
    ),
)


class Start(msgspec.Struct):
    """What the options say, read before anything is started: a slip must not cost a run."""

    key: str
    tags: dict[str, str]
    priority: int
    watch: bool
    wait_s: float
    """0: it is not waited for."""
    budget: dict[str, float] = {}
    project: str = ""


def start_options(command: Callable[..., T]) -> Callable[..., T]:
    """The options of every start, handed to the command as one `Start`."""

    @functools.wraps(command)
    def call(
        *args: Any,
        key: str,
        tags: tuple[str, ...],
        priority: int,
        watch: bool,
        wait: float,
        budget: tuple[str, ...],
        project: str,
        **others: Any,
    ) -> T:
        if watch and wait:
            raise click.UsageError("give --watch or --wait, not both")
        amounts = read_amounts(budget)
        start = Start(key, read_tags(tags), priority, watch, wait, amounts, project)
        return command(*args, start=start, **others)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def started(info: RunInfo) -> dict[str, Any]:
    """What the server tells of a run it has just begun; the rest of it is not known yet."""
    return {
        "id": info.id,
        "flow": info.flow,
        "version": info.version,
        "state": info.state,
        "created": info.created,
        "priority": info.priority,
        "tags": info.tags,
    }


def read_amounts(pairs: tuple[str, ...]) -> dict[str, float]:
    """A budget of `unit=amount`; which units there are is the server's to say."""
    found: dict[str, float] = {}
    for pair in pairs:
        unit, _, amount = pair.partition("=")
        try:
            found[unit] = float(amount)
        except ValueError:
            raise click.UsageError(f"--budget {pair}: write it as tokens=5000") from None
    return found


def follow(client: Client, info: RunInfo, start: Start, *, as_json: bool) -> None:
    """Say what was started and see it through as asked; the exit code is then its outcome."""
    if not start.watch and not start.wait_s:
        output.show_json(started(info)) if as_json else print_line(info.id)
        if info.created is False:
            print_line("this key has started it before; nothing new was started", err=True)
        print_line(f"follow it: windlass run watch {info.id}", err=True)
        return
    print_line(f"{info.id}  {page_url(client, info.id)}", err=True)
    if start.watch:
        ended = watch_run(client, info.id, as_json=as_json)
    else:
        ended = client.run(info.id).wait(start.wait_s)
        output.show_json(ended) if as_json else print_line(f"{ended.id}\t{ended.outcome}")
    click.get_current_context().exit(outcome_code(ended))
