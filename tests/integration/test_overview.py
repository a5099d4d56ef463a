"""The overview adds up on both databases."""

from functools import partial

from tests.integration.conftest import Served
from windlass.testing.processes import wait_until


def test_the_overview_counts_what_there_is(served: Served) -> None:
    served.push("overviewed", {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []})
    before = served.http.get("/api/v1/stats").json()
    served.start("overviewed")
    view = served.http.get("/api/v1/stats").json()
    assert view["inWindow"] == before["inWindow"] + 1
    assert (
        sum(b["succeeded"] + b["failed"] + b["other"] for b in view["buckets"])
        == (view["inWindow"])
    )
    [flow] = [row for row in view["flows"] if row["flow"] == "overviewed"]
    assert (flow["runs"], flow["last"][0][1]) == (1, "waiting")
    assert view["workers"]["online"] >= 2
    assert view["inbox"] >= 1


def test_the_grid_has_the_newest_runs_of_a_flow_with_their_outermost_tasks(served: Served) -> None:
    nodes = {
        "a": {"kind": "timer", "params": {"delay_ms": 1}},
        "b": {"kind": "approval"},
    }
    served.push("gridded", {"start": "a", "nodes": nodes, "edges": [{"from": "a", "to": "b"}]})
    runs = [served.start("gridded") for _ in range(3)]
    for run in runs:
        wait_until(partial(is_asking, served, run))
    view = served.http.get("/api/v1/flows/gridded/grid", params={"limit": 2}).json()
    assert [run["id"] for run in view["runs"]] == runs[1:]
    [newest] = view["runs"][-1:]
    assert [(task["node"], task["state"]) for task in newest["tasks"]] == [
        ("a", "succeeded"),
        ("b", "waiting"),
    ]
    assert served.http.get("/api/v1/flows/nobody/grid").status_code == 404


def is_asking(served: Served, run_id: str) -> bool:
    """Whether its approval is there; a run that sleeps is waiting as well."""
    tasks = served.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
    return [task["node"] for task in tasks] == ["a", "b"]


def is_waiting(served: Served, run_id: str) -> bool:
    return bool(served.http.get(f"/api/v1/runs/{run_id}").json()["state"] == "waiting")
