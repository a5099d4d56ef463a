"""A run as it stood after one of its events, told by its events up to there."""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.runs import get_run
from windlass.kernel.checkpoints import HELD
from windlass.model.errors import BadRequest
from windlass.model.questions import read_question
from windlass.model.rows import Checkpoint, Event, Run, Task
from windlass.model.states import (
    ATTEMPT_LIVE,
    RUN_ENDED,
    TASK_ENDED,
    AttemptState,
    CheckpointState,
    RunState,
    TaskState,
)
from windlass.ports.store import Cond
from windlass.server.compat.memoh.record import Record, all_of, load

_BATCH = 1_000
_ENDED = frozenset(str(state) for state in AttemptState if state not in ATTEMPT_LIVE)


class Past:
    """What a run's events say, up to one of them."""

    def __init__(self) -> None:
        self.run = "queued"
        self.revision = 0
        self.at = 0
        self.tasks: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.ended: set[str] = set()
        """Attempts that had come to their end."""
        self.checkpoints: dict[str, str] = {}

    def take(self, event: Event) -> None:
        self.at = event.at
        data: Any = msgspec.json.decode(event.data)
        for change in data["changes"]:
            self._change(change)

    def _change(self, change: dict[str, Any]) -> None:
        if "run" in change:
            self.run = change["run"]
        elif "revision" in change:
            self.revision = change["revision"]
        elif "task" in change:
            self.tasks[change["task"]] = change["state"]
        elif "checkpoint" in change:
            self.checkpoints[change["checkpoint"]] = change["state"]
        elif "attempt" in change:
            task, _, number = change["attempt"].rpartition("@")
            self.attempts[task] = max(self.attempts.get(task, 0), int(number))
            if change.get("state") in _ENDED:
                self.ended.add(change["attempt"])


async def events_until(engine: Engine, run: Run, seq: int) -> Past:
    past, after = Past(), 0
    while after < seq:
        where = [Cond("run_id", "=", run.id), Cond("seq", ">", after), Cond("seq", "<=", seq)]
        rows = await engine.store.page(Event, where, order="seq", limit=_BATCH)
        if not rows:
            break
        for row in rows:
            past.take(row)
        after = rows[-1].seq
    return past


def check_seq(run: Run, seq: int) -> int:
    """A number that the run has reached; 0 stands for the newest."""
    if seq > run.seq:
        raise BadRequest(f"the run is at {run.seq}, not yet at {seq}")
    return seq or run.seq


async def record_at(engine: Engine, run: Run, seq: int) -> tuple[Record, list[Checkpoint]]:
    """A run with its tasks and questions as they stood after the event of that number."""
    now = await load(engine, run)
    asked = await all_of(engine, Checkpoint, run)
    asked.sort(key=lambda row: (row.created_at, row.id))
    if seq == run.seq == (await get_run(engine, run.id)).seq:
        return now, asked
    # It is of another moment, or has become so while it was read.
    past = await events_until(engine, run, seq)
    then = [
        replace(row, **as_asked(row, past.checkpoints[row.id]))
        for row in asked
        if row.id in past.checkpoints
    ]
    open_ = {row.task_id: row for row in then if row.state is CheckpointState.OPEN}
    blocking = sum(read_question(row.details).blocks_run for row in open_.values())
    state = RunState(past.run)
    old = replace(
        run,
        state=state,
        seq=seq,
        graph_rev=past.revision,
        barriers=blocking,
        updated_at=past.at,
        finished_at=run.finished_at if state in RUN_ENDED else None,
        error=run.error if state is RunState.FAILED else None,
    )
    rows = [
        as_it_was(row, past, open_.get(row.id), blocked=bool(blocking))
        for row in now.all_rows
        if row.id in past.tasks
    ]
    return Record(old, await engine.graphs.load_of(old), rows, past.ended), then


def as_it_was(row: Task, past: Past, asked: Checkpoint | None, *, blocked: bool) -> Task:
    """A task with what its events told by then; what came later is left out."""
    state = TaskState(past.tasks[row.id])
    ended = state in TASK_ENDED and state is row.state
    waits = state is TaskState.WAITING
    return replace(
        row,
        state=state,
        attempts=past.attempts.get(row.id, 0),
        wait_key=asked.id if waits and asked is not None else None,
        parked=HELD if waits and asked is None and blocked else None,
        output=row.output if ended else None,
        error=row.error if ended else None,
        finished_at=row.finished_at if ended else None,
    )


def as_asked(row: Checkpoint, state: str) -> dict[str, Any]:
    if state == row.state:
        return {}
    return {"state": CheckpointState(state), "answer": None, "answered_by": "", "answered_at": None}
