"""The overview adds up."""

from collections import Counter

from windlass.engine.window_counts import SLICES, WindowCount
from windlass.model.rows import Run
from windlass.model.states import RunState
from windlass.server.api.overview import buckets, flow_stats, p95

HOUR = 3_600_000


def run(at: int, state: str, took: int | None = 10, flow: str = "f") -> Run:
    return Run(
        id=f"{at:08}",
        version_id="v",
        flow_id="f",
        flow_name=flow,
        state=RunState(state),
        created_at=at,
        updated_at=at,
        finished_at=None if took is None else at + took,
    )


def counted(runs: list[Run]) -> WindowCount:
    slices = {place: Counter[str]() for place in range(SLICES)}
    flows = {run.flow_name: Counter[str]() for run in runs}
    for run in runs:
        slices[min(SLICES - 1, run.created_at * SLICES // HOUR)][str(run.state)] += 1
        flows[run.flow_name][str(run.state)] += 1
    return WindowCount(0, slices, flows)


def test_every_run_of_the_window_is_in_one_bucket() -> None:
    runs = [run(at, "succeeded") for at in range(0, HOUR + 1, 60_000)]
    found = buckets(counted(runs), HOUR)
    assert sum(bucket.succeeded for bucket in found) == len(runs) == counted(runs).total
    assert len(found) == 30
    assert [bucket.at for bucket in found[:2]] == [0, HOUR // 30]
    assert len(buckets(WindowCount(0, {}, {}), HOUR)) == 30


def test_buckets_tell_outcomes_apart() -> None:
    runs = [run(5, "failed"), run(5, "succeeded"), run(5, "waiting", None)]
    first = buckets(counted(runs), HOUR)[0]
    assert (first.failed, first.succeeded, first.other) == (1, 1, 1)


def test_the_slowest_twentieth_does_not_count() -> None:
    assert p95([run(0, "succeeded", took) for took in range(100)]) == 95
    assert p95([run(0, "running", None)]) is None


def test_flows_are_ordered_by_how_busy_they_are() -> None:
    runs = [run(3, "failed", flow="b"), run(2, "succeeded", flow="a"), run(1, "failed", flow="b")]
    found = flow_stats(counted(runs), runs)
    assert [(row.flow, row.runs, row.failed) for row in found] == [("b", 2, 2), ("a", 1, 0)]
    assert [state for _, state in found[0].last] == ["failed", "failed"]


def test_a_flow_whose_runs_are_too_old_to_be_looked_at_is_counted_all_the_same() -> None:
    runs = [run(3, "failed", flow="old"), run(2, "succeeded", flow="old")]
    [row] = flow_stats(counted(runs), [])
    assert (row.flow, row.runs, row.p95_ms, row.last) == ("old", 2, None, [])
