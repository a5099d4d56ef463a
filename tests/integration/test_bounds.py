"""What is asked of the API beyond any measure costs only whoever asks, and is told so."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Served
from tests.integration.test_api import wait_node
from windlass.model.states import RunState
from windlass.testing.processes import wait_until

NATIVE = {"Accept": "application/vnd.windlass+json"}
LISTS = (
    *("runs", "workers", "checkpoints", "flows", "workflows", "tokens", "users", "audit-events"),
    *("dead-letters", "resources", "published-packages", "pods", "nodes", "limits"),
)


def test_a_result_nobody_can_read_costs_the_others_of_its_exchange_nothing(
    served: Served,
) -> None:
    """Its own attempt fails for good; whatever is handed in beside it has its receipt."""
    call = {"exec_type": "queue", "service": "mates", "post": {"output_key": "out"}}
    served.push("mates", {"start": "a", "nodes": {"a": call}, "edges": []})
    runs = [served.start("mates") for _ in range(3)]
    path, given = "/api/v1/workers/mates/exchange", list[dict[str, Any]]()
    while len(given) < 3:
        asked = {"services": ["mates"], "slots": 3, "waitMs": 5_000}
        given += served.http.post(path, json=asked).json()["attempts"]
    spoilt = given[1]["runId"]
    results = ",".join(
        json.dumps({"attemptId": one["attemptId"], "token": one["token"]})[:-1]
        + f',"output":{"1e999" if one["runId"] == spoilt else "1"}}}'
        for one in given
    )
    answer = served.http.post(path, content=f'{{"services":["mates"],"results":[{results}]}}')
    assert answer.status_code == 200, answer.text
    receipts = answer.json()["results"]
    assert [receipt["attemptId"] for receipt in receipts] == [one["attemptId"] for one in given]
    assert [receipt["status"] for receipt in receipts] == ["accepted"] * 3
    assert "the result is not JSON" in receipts[1]["detail"]
    states = {run: served.wait(run)["state"] for run in runs}
    assert states == {run: "failed" if run == spoilt else "succeeded" for run in runs}


@pytest.mark.parametrize("key", ["k" * 501, "k" * 9_000, "a\0b", ""])
def test_the_key_of_a_signal_is_bounded(served: Served, key: str) -> None:
    served.push("keyed", wait_node("flag"))
    run_id = served.start("keyed")
    path = f"/api/v1/runs/{run_id}/signal"
    answer = served.http.post(path, json={"key": key, "value": 1})
    assert answer.status_code == 400, answer.text
    assert served.http.post(path, json={"key": "k" * 500, "value": 1}).status_code == 200
    assert served.http.post(path, json={"key": "flag", "value": 1}).status_code == 200
    assert served.wait(run_id)["state"] == "succeeded"


@pytest.mark.parametrize("cursor", ["x" * 5_000, "9" * 5_000, "a%00b"])
@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_that_is_no_place_is_refused(served: Served, name: str, cursor: str) -> None:
    answer = served.http.get(f"/api/v1/{name}?cursor={cursor}")
    assert answer.status_code == 400, answer.text


def test_a_state_named_twice_or_none_left_is_a_list_like_any(served: Served) -> None:
    served.push("twice", wait_node())
    ids = [served.start("twice") for _ in range(3)]
    query = {"q": "status:waiting,waiting", "limit": "200"}
    page = served.http.get("/api/v1/runs", params=query, headers=NATIVE).json()
    listed = [item["id"] for item in page["items"]]
    assert sorted(set(listed), reverse=True) == listed
    assert set(ids) <= set(listed)
    none = served.http.get("/api/v1/runs", params={"q": f"-status:{','.join(RunState)}"})
    assert (none.status_code, none.json()["items"]) == (200, []), none.text
    act = {"action": "cancel", "q": "status:waiting,waiting", "dryRun": True}
    assert served.http.post("/api/v1/runs/bulk", json=act).json()["matched"] == len(listed)
    done = served.http.post("/api/v1/runs/bulk", json={**act, "dryRun": False}).json()
    assert (done["done"], done["failed"]) == (len(listed), [])


@pytest.mark.parametrize("word", ["n" * 190, "🦖" * 148])
def test_the_longest_names_a_definition_may_have_are_kept_in_every_database(
    served: Served, word: str
) -> None:
    """They are parts of keys that indexes hold, on the way through subflows too."""
    wait = {"kind": "wait_event", "params": {"signal_key": f"$shared.{word}"}}
    nodes = {
        "a": {"exec_type": "local_func", "func": "mul", "post": {"output_key": f"{word[1:]}y"}},
        "w": {**wait, "post": {"output_key": f"{word[1:]}x"}},
    }
    body = {"start": "a", "nodes": nodes, "edges": [{"from": "a", "to": "w"}]}
    key = "k" * 98
    for _ in range(8):
        body = {"start": key, "nodes": {key: {"kind": "subflow", "subflow": body}}, "edges": []}
    served.push("longest", body)
    run_id = served.start("longest")
    wait_until(lambda: served.wait(run_id, 0)["state"] == "waiting", 10)
    signal = {"key": word, "value": 1}
    assert served.http.post(f"/api/v1/runs/{run_id}/signal", json=signal).status_code == 200
    assert served.wait(run_id)["state"] == "succeeded"
