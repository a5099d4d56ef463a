"""Where a run stands, in a screenful: its steps, its fan-outs by count, what each waits for."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from windlass.cli.texts import SHORT_ID, ago, icon_of, place_of, question_place, short_ids, took
from windlass.cli.views import error_text, progress
from windlass.client import Client
from windlass.client.calls import tasks as list_tasks
from windlass.client.shapes import CheckpointInfo, TaskInfo
from windlass.model.ids import as_written, run_of

LINES_MAX = 30
PAGE = 200
RUNNING_MAX = 500


class Snapshot(msgspec.Struct, frozen=True):
    """What is shown of a run at one moment."""

    tasks: list[TaskInfo]
    """Every task but the branches of fan-outs, in the order they came up."""
    running: dict[str, int]
    """Of each fan-out, how many branches run."""
    failed: dict[str, str]
    """Of each fan-out, what one of its failed branches said."""
    questions: list[CheckpointInfo]
    why: str = ""
    """What it waits for, if it has waited for a while."""
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    icon: str
    state: str
    name: str
    progress: str
    took: str
    note: str


def look(client: Client, run: str) -> Snapshot:
    """Ask the server where a run stands, without asking for every branch of a large fan-out."""
    found = sorted(outline(client, run), key=in_order)
    fans = {task.id for task in found if task.total and task.finished_at is None}
    running: Counter[str] = Counter()
    if fans:
        page = client.perform(list_tasks(run, state="running", limit=RUNNING_MAX))
        running.update(fan_of(task) for task in page.items if task.index is not None)
    failed: dict[str, str] = {}
    if any(task.failed for task in found):
        page = client.perform(list_tasks(run, state="failed", limit=PAGE))
        failed = {fan_of(task): error_text(task.error) for task in page.items if task.error}
    waits = any(task.kind == "approval" and task.state == "waiting" for task in found)
    questions = client.inbox(run=run).items if waits else []
    return Snapshot(found, dict(running), failed, questions)


def outline(client: Client, run: str) -> Iterator[TaskInfo]:
    """A run's tasks without what is inside fan-outs, which is skipped rather than read."""
    cursor: str | int | None = ""
    while cursor is not None:
        page = client.perform(list_tasks(run, limit=PAGE, cursor=cursor))
        fans = [task.id for task in page.items if task.total]
        for task in page.items:
            if not inside(task.id, fans):
                yield task
        cursor = page.next
        if cursor is not None:
            # Tasks come by id, and all ids inside a fan-out begin with its own and a tilde, which
            # is the last of the characters that ids are made of.
            last = next((fan for fan in fans if str(cursor).startswith(f"{fan}~")), None)
            cursor = f"{last}~~" if last is not None else cursor


def in_order(task: TaskInfo) -> list[int]:
    """What sorts tasks by when they were reached, and items by their number."""
    steps = (part.rpartition(".")[2] for part in place_of(task.id).split("~"))
    return [int(step) if step.isdecimal() else 0 for step in steps]


def inside(task_id: str, fans: Sequence[str]) -> bool:
    return any(task_id.startswith(f"{fan}~") for fan in fans)


def fan_of(task: TaskInfo) -> str:
    return task.id.rpartition("~")[0]


def lines_of(snapshot: Snapshot) -> list[Line]:
    """What to show of it: the newest lines, and those before them as a count."""
    hidden = max(0, len(snapshot.tasks) - LINES_MAX)
    lines = [Line("·", "", f"{hidden} earlier steps", "", "", "")] if hidden else []
    for task in snapshot.tasks[hidden:]:
        depth = place_of(task.id).count("~")
        lines.append(
            Line(
                icon_of(task.state),
                task.state,
                "  " * depth + as_written(task.node.rpartition("/")[2]),
                progress(task, snapshot.running.get(task.id, 0)),
                took(task.started_at, task.finished_at),
                note_of(task, snapshot),
            )
        )
    return lines


def note_of(task: TaskInfo, snapshot: Snapshot) -> str:
    """What somebody who looks at this task should know."""
    if task.state == "waiting" and task.kind == "approval":
        return question_of(task, snapshot.questions)
    if task.state == "waiting" and task.kind == "timer" and task.due_at is not None:
        return ago(task.due_at)
    if task.state == "waiting" and task.kind == "wait":
        run = run_of(task.id)[:SHORT_ID]
        return f"waits for a signal\n→ windlass run signal {run} {task.wait_key or 'KEY'} VALUE"
    said = error_text(task.error) or snapshot.failed.get(task.id, "")
    if said and task.state == "waiting" and task.due_at is not None:
        return f"{said}; again {ago(task.due_at)}"
    return said


def question_of(task: TaskInfo, questions: Sequence[CheckpointInfo]) -> str:
    mine = next((item for item in questions if item.task_id == task.id), None)
    if mine is None:
        return "waits for a person"
    run = short_ids([mine.run_id])[mine.run_id]
    # One question of a run is named well enough by the run.
    name = run if len(questions) == 1 else f"{run}~{question_place(mine.id)}"
    return f"{mine.prompt or 'waits for a person'}\n→ windlass inbox approve {name}"
