"""Following a run: a live table on a terminal, one line an event elsewhere."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from windlass.cli import output
from windlass.client import Client
from windlass.client.calls import get_run
from windlass.client.calls import tasks as list_tasks
from windlass.client.shapes import EventInfo, RunInfo, TaskInfo

if TYPE_CHECKING:
    from rich.table import Table

REFRESH_S = 0.25
ROWS_MAX = 40


def watch_run(client: Client, run: str, *, as_json: bool) -> RunInfo:
    """Show a run's progress until it has ended; the run as it ended."""
    try:
        if output.is_terminal() and not as_json:
            _live(client, run)
        else:
            for event in client.events(run):
                _line(event, as_json=as_json)
    except KeyboardInterrupt:
        click.echo(f"\nit goes on; follow it again: windlass run watch {run}", err=True)
        raise
    ended = client.perform(get_run(run))
    if not as_json:
        _verdict(ended)
    return ended


def outcome_code(run: RunInfo) -> int:
    return 0 if run.state == "succeeded" else 1


def _verdict(run: RunInfo) -> None:
    click.echo(f"{output.state_text(run.state)}  {run.id}", err=True)
    if run.error is not None:
        where = f"{run.error.node}: " if run.error.node else ""
        click.echo(f"  {where}{run.error.message}", err=True)
        click.echo(f"  → windlass run retry {run.id}", err=True)


def _line(event: EventInfo, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(event).decode())
        return
    at = datetime.fromtimestamp(event.at / 1000, UTC).isoformat(timespec="milliseconds")
    click.echo(f"{event.seq}\t{at}\t{event.type}\t{event.task_id or ''}")


def _live(client: Client, run: str) -> None:
    """Redraw the tasks when something happened, but not for every single event."""
    from rich.live import Live

    drawn_at = 0.0
    with Live(refresh_per_second=8, transient=False) as live:
        for _ in client.events(run):
            if time.monotonic() - drawn_at >= REFRESH_S:
                live.update(_task_table(_recent(client, run)))
                drawn_at = time.monotonic()
        live.update(_task_table(_recent(client, run)))


def _recent(client: Client, run: str) -> list[TaskInfo]:
    page = client.perform(list_tasks(run, limit=200))
    top = [task for task in page.items if task.index is None or task.index < 0]
    top.sort(key=lambda task: (task.created_at or 0, task.step))
    return top[-ROWS_MAX:]


def _task_table(tasks: list[TaskInfo]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for task in tasks:
        icon, style = output.ICONS.get(task.state, ("·", ""))
        table.add_row(Text(icon, style=style), task.node, _progress(task), _took(task), _note(task))
    return table


def _progress(task: TaskInfo) -> str:
    if task.total:
        return f"{task.done}/{task.total}" + (f" ✗{task.failed}" if task.failed else "")
    return f"attempt {task.attempts}" if task.attempts > 1 else ""


def _took(task: TaskInfo) -> str:
    if task.started_at is None:
        return ""
    end = task.finished_at or round(time.time() * 1000)
    return output.span_text(max(0, end - task.started_at) / 1000)


def _note(task: TaskInfo) -> str:
    if task.state == "waiting" and task.kind == "approval":
        return "waiting for a person → windlass inbox ls"
    if task.error is not None:
        return task.error.message.splitlines()[0][:80] if task.error.message else task.error.kind
    return ""
