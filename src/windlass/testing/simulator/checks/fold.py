"""Replaying a run's events must give its state: history is the truth told a second time."""

from typing import Any

import msgspec

from windlass.model.rows import Event
from windlass.testing.simulator.checks.rows import RunRows, expect

_REDOING = ("task.retry_requested", "graph.patched", "run.forked")


class Folded:
    """What the events of one run say so far."""

    def __init__(self) -> None:
        self.seq = 0
        self.run = "queued"
        self.tasks: dict[str, tuple[str, int]] = {}
        self.attempts: dict[str, str] = {}
        self.checkpoints: dict[str, str] = {}
        self.failures = 0
        self.reopened = False
        """The newest events asked for a retry, or changed the graph."""
        self.redone = False
        """Some event ever did, so that tasks may have begun counting anew."""

    def add(self, events: list[Event]) -> None:
        """Take in the events of one commit; they must continue where the last one ended."""
        self.reopened = False
        for event in sorted(events, key=lambda event: event.seq):
            expect(event.seq == self.seq + 1, f"event {event.seq} follows {self.seq}")
            self.seq = event.seq
            self.reopened |= event.type in _REDOING
            self.redone |= self.reopened
            for change in msgspec.json.decode(event.data)["changes"]:
                self.reopened |= "revision" in change
                self._take(change)
            self.redone |= self.reopened

    def _take(self, change: dict[str, Any]) -> None:
        if "run" in change:
            self.run = change["run"]
        elif "task" in change:
            before, _ = self.tasks.get(change["task"], ("", 0))
            self.failures += (change["state"] == "failed") - (before == "failed")
            self.tasks[change["task"]] = change["state"], change.get("generation", 0)
        elif "fanout" in change:
            first, last = change["made"]
            for index in range(first, last):
                state = "queued" if index - first < change["released"] else "pending"
                self.tasks[f"{change['fanout']}~{index}"] = state, 0
        elif "checkpoint" in change:
            self.checkpoints[change["checkpoint"]] = change["state"]
        elif "attempt" in change and "state" in change:
            self.attempts[change["attempt"]] = change["state"]


def check_history(rows: RunRows, told: Folded) -> None:
    run = rows.run
    expect(run.seq == told.seq, f"the run is at {run.seq}, its events at {told.seq}")
    expect(run.state == told.run, f"the run is {run.state}, its events say {told.run}")
    tasks = {task.id: (str(task.state), task.generation) for task in rows.tasks.values()}
    same(tasks, told.tasks, "task")
    attempts = {row.id: str(row.state) for of_task in rows.attempts.values() for row in of_task}
    same(attempts, told.attempts, "attempt")
    checkpoints = {row.id: str(row.state) for row in rows.checkpoints.values()}
    same(checkpoints, told.checkpoints, "checkpoint")


def same(have: dict[str, Any], told: dict[str, Any], what: str) -> None:
    if have != told:
        keys = sorted(key for key in {*have, *told} if have.get(key) != told.get(key))
        key = keys[0]
        expect(False, f"{what} {key} is {have.get(key)}, its events say {told.get(key)}")
