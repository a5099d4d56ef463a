"""A run that has ended can be deleted, and nothing of it is left."""

from tests.integration.conftest import Served

FLOW = {
    "start": "each",
    "nodes": {
        "each": {
            "kind": "foreach",
            "exec_type": "queue",
            "service": "transform",
            "prep": {"input_key": [1, 2, 3]},
            "post": {"output_key": "out"},
        },
        "ask": {"kind": "approval"},
    },
    "edges": [{"from": "each", "to": "ask"}],
}


def test_an_ended_run_is_deleted_with_all_that_is_kept_of_it(served: Served) -> None:
    served.push("deleted", FLOW)
    http = served.http
    body = {"flow": "deleted", "requestId": f"once-{served.db[-12:]}"}
    run = http.post("/api/v1/runs", json=body).json()["id"]
    refused = http.delete(f"/api/v1/runs/{run}")
    assert refused.status_code == 409, refused.text
    assert "cancel it first" in refused.text
    http.post(f"/api/v1/runs/{run}/cancel", json={})
    assert served.wait(run)["state"] == "cancelled"
    assert http.delete(f"/api/v1/runs/{run}").status_code == 200
    for path in ("", "/tasks", "/attempts", "/events", "/why"):
        assert http.get(f"/api/v1/runs/{run}{path}").status_code == 404, path
    assert http.delete(f"/api/v1/runs/{run}").status_code == 404
    again = http.post("/api/v1/runs", json=body).json()
    assert again["created"] is True
    http.post(f"/api/v1/runs/{again['id']}/cancel", json={})
