"""What somebody misspells when starting a run: parameters, and the flow itself."""

from tests.integration.conftest import Served


def test_declared_parameters_are_checked_on_both_surfaces(served: Served) -> None:
    count = {"type": "integer"}
    definition = {
        "start": "a",
        "params": {"type": "object", "properties": {"count": count}, "required": ["count"]},
        "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}},
    }
    served.push("counted", definition)
    version = served.http.get("/api/v1/flows/counted/versions/1").json()
    assert version["paramsSchema"] == definition["params"]
    flow_id = served.http.get("/api/v1/flows/counted").json()["id"]
    bodies: dict[str, dict[str, object]] = {
        "/api/v1/runs": {"flow": "counted", "params": {"cuont": 3}},
        "/api/tasks": {"FlowID": flow_id, "Version": 1, "ParamsJSON": '{"cuont": 3}'},
    }
    for path, body in bodies.items():
        refused = served.http.post(path, json=body)
        assert refused.status_code == 400, refused.text
        assert "did you mean" in refused.text
    assert served.run("counted", {"count": 3})["state"] == "succeeded"


def test_a_flow_that_is_misspelt_is_answered_with_the_name_that_is_like_it(served: Served) -> None:
    node = {"kind": "timer", "params": {"delay_ms": 1}}
    served.push("nightly-orders", {"start": "a", "nodes": {"a": node}})
    answer = served.http.post("/api/v1/runs", json={"flow": "nihgtly-orders"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == 'no flow "nihgtly-orders"; did you mean "nightly-orders"?'
    unlike = served.http.post("/api/v1/runs", json={"flow": "zzzzzzzz"})
    assert "windlass flow push FILE" in unlike.json()["detail"]
