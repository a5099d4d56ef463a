"""What the attempts of a run logged, as one stream, and how the bad ones ended."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from windlass.cli import output
from windlass.cli.printing import print_json, print_line
from windlass.cli.texts import place_of, written_place
from windlass.client import Run
from windlass.client.calls import get_run
from windlass.client.logs import LogEntry
from windlass.client.shapes import AttemptInfo
from windlass.model.ids import task_of

GOOD = ("succeeded", "claimed", "running")
_WAIT_MS = 20_000
"""How long the server is asked to wait for the next entry."""
_PAUSE_S = 0.2
"""After an answer without entries: a server that is about to stop waits no more."""


class LogPrinter:
    """Prints the logs of a run, of all tasks or of one."""

    def __init__(self, handle: Run, task: str, attempt: str, level: str, *, as_json: bool) -> None:
        self._handle = handle
        self._task = task
        self._attempt = attempt
        self._level = level
        self._as_json = as_json
        self._last: dict[str, str] = {}
        """The last words of each attempt."""

    def show(self, *, follow: bool) -> None:
        """Print what there is, or that and what comes until the run has ended."""
        if self._as_json and not follow:
            output.show_json(list(self._entries(follow=False)))
            return
        for entry in self._entries(follow=follow):
            self._last[f"{entry.task}@{entry.attempt}"] = entry.text
            self._print(entry)
        if not self._as_json:
            self._endings()

    def _entries(self, *, follow: bool) -> Iterator[LogEntry]:
        cursor = ""
        while True:
            # Asked before the page is: what an attempt said at its end is then in the page.
            going_on = follow and not self._handle.client.perform(get_run(self._handle.id)).ended
            page = self._handle.logs(
                task=self._task if "~" in self._task else "",
                attempt=self._attempt,
                level=self._level,
                cursor=cursor,
                wait_ms=_WAIT_MS if going_on else 0,
            )
            yield from (entry for entry in page.items if self._is_meant(entry.task))
            cursor = page.next or page.position or ""
            if page.next is None and not going_on:
                return
            if page.next is None and not page.items:
                time.sleep(_PAUSE_S)

    def _is_meant(self, task: str) -> bool:
        return not self._task or is_of(task, self._task)

    def _print(self, entry: LogEntry) -> None:
        if self._as_json:
            print_json(msgspec.json.encode(entry).decode())
            return
        level = entry.level or ""
        at = datetime.fromtimestamp(entry.at / 1000, UTC)
        lines = entry.text.split("\n")
        if not output.is_terminal():
            whole = f"{entry.task}@{entry.attempt}"
            for line in lines:
                print_line(f"{at.isoformat(timespec='milliseconds')}\t{level}\t{whole}\t{line}")
            return
        shown = at.astimezone().strftime("%H:%M:%S.%f")[:-3]
        begin = f"{shown}  {level:<8}  {written_place(entry.task)}#{entry.attempt}  "
        for line in lines:
            print_line(f"{begin}{line}")
            begin = " " * len(begin)

    def _endings(self) -> None:
        """Why attempts failed, unless their last words say so already."""
        found = [item for item in attempts_of(self._handle) if self._is_meant(task_of(item.id))]
        number = self._attempt.rpartition("@")[2]
        for item in found:
            if self._attempt and item.number != int(number or 0):
                continue
            said = "" if item.error is None else item.error.message or item.error.kind
            if item.state in GOOD or not said:
                continue
            if not self._last.get(item.id, "").rstrip("\n").endswith(said):
                at = item.finished_at or item.claimed_at or 0
                task = task_of(item.id)
                self._print(
                    LogEntry(at=at, level="error", task=task, attempt=item.number, text=said)
                )
                self._last[item.id] = said
        if not self._last:
            narrowed = self._attempt or self._level
            which = "nothing like that was logged" if found and narrowed else "no such attempts"
            print_line("its attempts logged nothing" if found and not narrowed else which, err=True)


def attempts_of(handle: Run) -> Iterator[AttemptInfo]:
    cursor: str | int | None = ""
    while cursor is not None:
        page = handle.attempts(cursor=cursor)
        yield from page.items
        cursor = page.next


def is_of(whole: str, task: str) -> bool:
    """Whether a task is the one named by its id, its place in the run or its node."""
    places = (place_of(whole), written_place(whole))
    return task in (whole, *places) or any(
        step.rpartition(".")[0] == task for place in places for step in place.split("~")
    )
