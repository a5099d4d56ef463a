"""How long work waits that one worker turned away, before another may have it."""

from typing import Any

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import TimerFired
from windlass.model.rows import Timer
from windlass.model.states import TaskState
from windlass.testing.played import RUN_ID, Played


def pauses(count: int, kind: str = "unreachable", **retry: Any) -> list[int]:
    """Milliseconds until a task is ready again, each time it is turned away."""
    node = {"exec_type": "queue", "service": "s", **retry}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}}))
    (task,) = run.all_tasks(RUN_ID)
    found: list[int] = []
    for _ in range(count):
        run.fail(task.id, kind=kind)
        (task,) = run.all_tasks(RUN_ID)
        found.append((task.due_at or run.now) - run.now)
        if task.state is TaskState.WAITING:
            run.now = task.due_at or run.now
            (timer_id,) = run.tables[Timer]
            run.send(TimerFired(timer_id, RUN_ID))
    return found


def test_the_next_worker_is_tried_at_once_and_later_ones_ever_later() -> None:
    assert pauses(8) == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]


def test_who_loses_work_says_nothing_about_the_next() -> None:
    assert pauses(3, kind="lost") == [0, 0, 0]


def test_a_delay_that_the_flow_asks_for_is_kept() -> None:
    assert pauses(4, attempt_delay_ms=1_500) == [1_500, 1_500, 2_000, 4_000]
    assert pauses(3, attempt_delay_ms=1_500, max_attempts=9) == [1_500, 1_500, 1_500]
