"""Dead letters over HTTP and on the command line's words, on both databases."""

from typing import Any

from tests.integration.conftest import Served

FLOW = {
    "start": "each",
    "nodes": {
        "each": {
            "kind": "foreach",
            "exec_type": "queue",
            "service": "nobody-serves-this",
            "prep": {"input_key": [1, 2, 3]},
            "post": {"output_key": "out"},
            "params": {"failure_strategy": "collect_errors"},
        }
    },
}


def work(served: Served, worker: str, count: int, answer: dict[str, Any]) -> None:
    """Do so many attempts of the service by hand."""
    service = "nobody-serves-this"
    body = {"id": worker, "transport": "pull", "services": [service], "capacity": 5}
    assert served.http.post("/api/v1/workers", json=body).is_success
    exchange = f"/api/v1/workers/{worker}/exchange"
    left = count
    while left:
        poll = {"services": [service], "slots": left, "waitMs": 10_000}
        attempts = served.http.post(exchange, json=poll).json()["attempts"]
        assert attempts, f"{left} of {count} are still to come"
        results = [{"attemptId": a["attemptId"], "token": a["token"], **answer} for a in attempts]
        done = {"services": [], "slots": 0, "results": results}
        assert served.http.post(exchange, json=done).is_success
        left -= len(attempts)


def test_what_failed_for_good_is_listed_shown_replayed_and_dropped(served: Served) -> None:
    http, flow = served.http, "dead-each"
    served.push(flow, FLOW)
    run = served.start(flow)
    work(served, "w-hand", 3, {"error": {"kind": "fatal", "message": "broken"}})
    served.wait(run)
    mine = {"run": run, "flow": flow, "class": "fatal", "kind": "task"}
    first = http.get("/api/v1/dead-letters", params={**mine, "limit": 2}).json()
    rest = http.get("/api/v1/dead-letters", params={**mine, "cursor": first["next"]}).json()
    letters = [*first["items"], *rest["items"]]
    assert len({letter["id"] for letter in letters}) == 3
    assert rest["next"] is None
    one = http.get(f"/api/v1/dead-letters/{letters[0]['id']}").json()
    assert (one["nextMove"], one["failureClass"], one["tries"]) == ("mend", "fatal", 1)
    assert [line["by"] for line in one["history"]] == ["w-hand"]
    assert 'windlass_dead_letters{kind="task"}' in http.get("/metrics").text

    counted = http.post("/api/v1/dead-letters/replay", json={"run": run, "dryRun": True}).json()
    assert (counted["matched"], counted["done"]) == (3, 0)
    dropped = http.post("/api/v1/dead-letters/drop", json={"ids": [letters[0]["id"]]})
    assert (dropped.status_code, dropped.json()["done"]) == (202, 1)
    assert http.get(f"/api/v1/dead-letters/{letters[0]['id']}").status_code == 404
    replayed = http.post("/api/v1/dead-letters/replay", json={"flow": flow, "run": run}).json()
    assert (replayed["matched"], replayed["done"], replayed["refused"]) == (2, 2, [])
    work(served, "w-hand", 2, {"output": "mended"})
    shared = http.get(f"/api/v1/runs/{served.wait(run)['id']}").json()["shared"]
    assert shared["out"].count("mended") == 2
    assert http.get("/api/v1/dead-letters", params={"run": run}).json()["items"] == []
    lines = http.get("/api/v1/audit-events", params={"limit": 20}).json()["items"]
    assert {"dead.replay", "dead.drop"} <= {line["action"] for line in lines}


def test_a_bulk_says_which_letters_it_means(served: Served) -> None:
    for verb in ("replay", "drop"):
        refused = served.http.post(f"/api/v1/dead-letters/{verb}", json={})
        assert refused.status_code == 400, refused.text
        assert "which letters" in refused.text
    assert served.http.get("/api/v1/dead-letters", params={"kind": "x"}).status_code == 400
    assert served.http.get("/api/v1/dead-letters", params={"before": "x"}).status_code == 400
