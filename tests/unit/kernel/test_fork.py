"""A fork is another run with the same past up to a task, and touches nothing of the first."""

from typing import Any

import pytest

from tests.plans import do, of, planned, task
from windlass.kernel.bounds import Limits
from windlass.kernel.decision import Decision
from windlass.kernel.events import ForkRun
from windlass.kernel.fork import fork, renamed
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.rows import Attempt, Row, Run, Task
from windlass.model.states import RunState
from windlass.testing.played import RUN_ID, Played

NEW_ID = "01900000-0000-7000-8000-00000000000f"


def forked(run: Played, named: str, given: str | None = None) -> Decision:
    rows = [renamed(row, RUN_ID, NEW_ID) for table in run.tables.values() for row in table.values()]
    [own] = [row for row in rows if isinstance(row, Run)]
    event = ForkRun(own, RUN_ID, [row for row in rows if row is not own], named, given)
    return fork(run.graph, event, run.now, Limits())


def tasks_of(decision: Decision) -> dict[str, Any]:
    rows = [row for row in decision.made[Task].values() if isinstance(row, Task)]
    return {row.node: row for row in rows}


def ended() -> Played:
    run = planned(task("a"), task("b", "a"), task("beside", "a"), task("c", "b", "beside"))
    for alias in ("a", "b", "beside", "c"):
        do(run, alias)
    assert run.state() is RunState.SUCCEEDED
    return run


def test_what_came_before_keeps_its_result_and_what_came_of_the_task_does_not_count() -> None:
    decision = forked(ended(), "plan/b", '{"edited":1}')
    found = tasks_of(decision)
    states = {path: str(row.state) for path, row in found.items()}
    assert states == {
        "plan": "running",
        "plan/a": "succeeded",
        "plan/b": "queued",
        "plan/beside": "succeeded",
        "plan/c": "superseded",
    }
    assert found["plan/b"].input == '{"edited":1}'
    run = decision.made[Run][NEW_ID]
    assert isinstance(run, Run)
    assert (run.state, run.active, run.finished_at) == (RunState.RUNNING, 1, None)
    assert decision.answer == NEW_ID


def test_every_row_is_new_and_none_names_the_first_run_but_the_event_that_says_so() -> None:
    run = ended()
    before = {table: dict(rows) for table, rows in run.tables.items()}
    decision = forked(run, "plan/b")
    assert run.tables == before
    assert (decision.changed, decision.removed) == ({}, {})
    named: list[Row] = [
        row for rows in decision.made.values() for row in rows.values() if RUN_ID in str(row)
    ]
    assert [getattr(row, "type", "") for row in named] == ["run.forked"]
    assert len(decision.made[Attempt]) == 4


@pytest.mark.parametrize(
    ("named", "given", "refusal"),
    [("plan/nowhere", None, NotFound), ("plan", "{}", BadRequest)],
)
def test_what_cannot_be_forked_is_refused(
    named: str, given: str | None, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        forked(ended(), named, given)


def test_a_task_that_never_began_cannot_be_forked_from() -> None:
    run = planned(task("a"), task("b", "a"))
    run.fail(of(run, "a").id, kind="fatal")
    assert run.state() is RunState.FAILED
    with pytest.raises((Conflict, NotFound)):
        forked(run, "plan/b")


def test_a_fork_that_plans_anew_goes_by_the_plan_it_has_made() -> None:
    source = planned(task("a"))
    other = task("a", worker_profile="another")
    do(source, "a", {"status": "completed", "request_replan": True, "child_tasks": [other]})
    do(source, "a")
    assert source.state() is RunState.SUCCEEDED
    decision = forked(source, "plan")
    row, graph = tasks_of(decision)["plan/a"], decision.graph
    assert graph is not None
    target = graph.nodes["plan/a"].target
    assert target is not None
    assert (row.queue, target.service) == ("pull:hand", "hand")
