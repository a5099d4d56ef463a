"""The overview adds up on both databases."""

from tests.integration.conftest import Served


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
