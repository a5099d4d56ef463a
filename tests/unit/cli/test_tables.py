"""Tables for people: they fit the terminal, and what they show can be typed back."""

from typing import Any

import pytest

from windlass.cli import texts
from windlass.cli.tables import Column, Laid, lay_out
from windlass.cli.views import progress, run_columns, task_columns
from windlass.client.shapes import FailureInfo, RunInfo, TaskInfo

A = "01a1deba-e800-7681-b747-fb331afd5d7c"
B = "01a1deba-e800-7fff-b747-fb331afd5d7c"
C = "01a1dfff-e800-7681-b747-fb331afd5d7c"


def run(id_: str = A, **fields: Any) -> RunInfo:
    return RunInfo(id=id_, flow="import-customers", version=12, **fields)


def width_of(laid: list[Laid]) -> int:
    return sum(found.width for found in laid) + 2 * (len(laid) - 1)


def titles(laid: list[Laid]) -> list[str]:
    return [found.column.title for found in laid]


def test_ids_are_short_but_long_enough_to_be_told_apart() -> None:
    assert texts.short_ids([A, C]) == {A: "01a1deba-e800", C: "01a1dfff-e800"}
    assert texts.short_ids([A, B])[A] == "01a1deba-e800-76"
    assert texts.short_ids([]) == {}


def test_a_task_is_shown_by_its_place_in_the_run() -> None:
    tasks = [TaskInfo(id=f"{A}~double.2~1", node="double/*", kind="call", state="running")]
    laid = lay_out(tasks, task_columns(), 80)
    assert laid[0].cells == ["double.2~1"]
    assert lay_out(tasks, task_columns(), 80, wide=True)[0].cells == [f"{A}~double.2~1"]


@pytest.mark.parametrize("width", [120, 80, 60, 45])
def test_a_table_fits_the_terminal(width: int) -> None:
    error = FailureInfo(message="no such customer in the whole of the database\nTraceback")
    runs = [run(state="failed", created_at=1, started_at=1, finished_at=900, error=error)]
    laid = lay_out(runs, run_columns(runs), width)
    assert width_of(laid) <= width
    assert titles(laid)[:3] == ["ID", "FLOW", "STATE"]
    assert ("ERROR" in titles(laid)) is (width >= 80)


def test_with_wide_nothing_is_left_out_or_cut() -> None:
    error = FailureInfo(message="x" * 200)
    runs = [run(state="failed", created_at=1, started_at=1, finished_at=900, error=error)]
    laid = lay_out(runs, run_columns(runs), 40, wide=True)
    assert [found.cells[0] for found in laid if found.column.title in ("ID", "ERROR")] == [
        A,
        "x" * 200,
    ]


def test_columns_that_say_nothing_are_left_out() -> None:
    runs = [run(state="queued", created_at=1)]
    assert titles(lay_out(runs, run_columns(runs), 200)) == ["ID", "FLOW", "STATE", "STARTED"]


def test_the_least_important_column_goes_first() -> None:
    columns = [
        Column("A", lambda item: "a" * 10),
        Column("B", lambda item: "b" * 10, rank=1),
        Column("C", lambda item: "c" * 10, rank=2),
    ]
    assert titles(lay_out([0], columns, 34)) == ["A", "B", "C"]
    assert titles(lay_out([0], columns, 33)) == ["A", "B"]
    assert titles(lay_out([0], columns, 5)) == ["A"]


def test_fan_outs_are_shown_by_their_counts() -> None:
    fan = TaskInfo(id=f"{A}~many.1", node="many", state="running", total=200, done=123, failed=3)
    assert progress(fan) == "✓120 ✗3 ○77"
    assert progress(fan, running=5) == "✓120 ✗3 ▶5 ○72"
    assert progress(TaskInfo(id=f"{A}~a.1", node="a", attempts=2)) == "attempt 2"
    assert progress(TaskInfo(id=f"{A}~a.1", node="a", attempts=1)) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "now"), (12, "12 s ago"), (200, "3 m ago"), (7300, "2 h ago"), (-90, "in 1 m")],
)
def test_times_are_relative(seconds: float, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "now_ms", lambda: 10**12)
    assert texts.ago(10**12 - round(seconds * 1000)) == text
