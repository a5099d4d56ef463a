"""Following a run: a live table on a terminal, one line an event elsewhere."""

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from windlass.cli import output
from windlass.cli.printing import print_json, print_line, print_text
from windlass.cli.progress import Snapshot, lines_of, look
from windlass.cli.texts import SHORT_ID, state_text, style_of, took
from windlass.client import Client
from windlass.client.calls import get_run, why
from windlass.client.shapes import EventInfo, RunInfo
from windlass.model.errors import Unavailable
from windlass.model.ids import as_written
from windlass.model.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Group

REFRESH_S = 0.25
TICK_S = 1.0
"""How often the clock on the screen moves when nothing happens."""
QUIET_S = 3.0
"""When nothing has happened for so long, people wonder why."""


def watch_run(client: Client, run: str, *, as_json: bool) -> RunInfo:
    """Show a run's progress until it has ended; the run as it ended."""
    try:
        if output.is_terminal() and not as_json:
            _live(client, client.perform(get_run(run)).id)
        else:
            for event in client.events(run):
                _line(event, as_json=as_json)
    except KeyboardInterrupt:
        print_text(f"\nit goes on; follow it again: windlass run watch {run}", err=True)
        raise
    ended = client.perform(get_run(run))
    if not as_json:
        _verdict(ended)
    return ended


def outcome_code(run: RunInfo) -> int:
    return 0 if run.state == "succeeded" else 1


def _verdict(run: RunInfo) -> None:
    span = took(run.created_at, run.finished_at)
    print_line(f"{state_text(run.outcome)} in {span}  {run.id}", err=True)
    short = run.id[:SHORT_ID]
    if run.error is not None:
        where = f"{as_written(run.error.node)}: " if run.error.node else ""
        print_line(f"  {where}{run.error.message}", err=True)
        print_line(f"  → windlass run logs {short}, then windlass run retry {short}", err=True)
    elif run.with_failures:
        print_line(f"  → windlass run tasks {short} --state failed", err=True)
    elif run.state == "succeeded" and output.is_terminal():
        print_line(f"  → windlass run show {short}", err=True)


def _line(event: EventInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.json.encode(event).decode())
        return
    at = datetime.fromtimestamp(event.at / 1000, UTC).isoformat(timespec="milliseconds")
    print_line(f"{event.seq}\t{at}\t{event.type}\t{event.task_id or ''}")


class _Follower:
    """Reads a run's events in a thread, so that the screen is free to move meanwhile."""

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run
        self.changed = threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="events", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def _follow(self) -> None:
        try:
            for _ in self._client.events(self._run):
                self.changed.set()
        except Exception as error:  # noqa: BLE001  raised again by the thread that shows it
            self.error = error
        self.changed.set()


def _live(client: Client, run: str) -> None:
    """Redraw the tasks when something happened, but not for every single event."""
    from rich.live import Live

    follower = _Follower(client, run)
    snapshot = look(client, run)
    moved_at = time.monotonic()
    with Live(_screen(snapshot), auto_refresh=False, transient=True) as live:
        while not follower.ended:
            if follower.changed.wait(TICK_S):
                follower.changed.clear()
                snapshot = _look_again(client, run, snapshot)
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at >= QUIET_S and not snapshot.questions:
                snapshot = _ask_why(client, run, snapshot)
                moved_at = time.monotonic()
            live.update(_screen(snapshot), refresh=True)
            time.sleep(REFRESH_S)
        if follower.error is not None:
            raise follower.error
    from rich.console import Console

    Console().print(_screen(look(client, run)))


def _look_again(client: Client, run: str, before: Snapshot) -> Snapshot:
    try:
        return look(client, run)
    except Unavailable:
        # The follower knows how long to be patient.
        return msgspec.structs.replace(before, stale=True)


def _ask_why(client: Client, run: str, before: Snapshot) -> Snapshot:
    try:
        line = client.perform(why(run)).line
    except Unavailable:
        return msgspec.structs.replace(before, stale=True)
    return msgspec.structs.replace(before, why=line, stale=False)


def _screen(snapshot: Snapshot) -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for line in lines_of(snapshot):
        name = Text.assemble((f"{line.icon} ", style_of(line.state)), visible(line.name))
        note = Text("\n".join(visible_lines(line.note)))
        table.add_row(name, line.progress, line.took, note)
    below = Text(visible(snapshot.why), style="dim")
    if snapshot.stale:
        below = Text("the server does not answer; trying again", style="yellow")
    return Group(table, below) if below else Group(table)
