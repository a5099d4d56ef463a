"""Names of nodes are shown as people wrote them, and taken as they are shown."""

import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.cli.texts import written_place
from windlass.model.ids import as_spelled, branch_id, node_path, task_id

ID = "01a1deba-e800-7681-b747-fb331afd5d7c"
BASE = f"/api/v1/runs/{ID}"
KEYS = ["节", "a b", "in/out", "50%", "it's", "a.1", "fetch"]


@pytest.mark.parametrize("key", KEYS)
def test_a_place_is_read_as_it_is_shown(key: str) -> None:
    whole = branch_id(task_id(ID, node_path("", key), 2), 3)
    shown = written_place(whole)
    assert shown == f"{key}.2~3"
    assert f"{ID}~" + "~".join(as_spelled(step) for step in shown.split("~")) == whole


def test_what_parts_a_place_is_told_from_what_is_in_a_name() -> None:
    whole = task_id(task_id(ID, node_path("", "a~b"), 1), node_path("", "c"), 2)
    assert written_place(whole) == "a%7Eb.1~c.2"


@pytest.mark.usefixtures("on_terminal")
def test_tasks_are_listed_by_their_written_places(server: Server, invoke: Invoke) -> None:
    node = node_path("", "节")
    task = {"id": task_id(ID, node, 1), "node": node, "kind": "call", "state": "succeeded"}
    server.answers["GET", BASE] = {"id": ID, "state": "succeeded"}
    server.answers["GET", f"{BASE}/tasks"] = {"items": [task], "next": None}
    listed = invoke("run", "tasks", ID)
    assert "节.1" in listed.output, listed.output
    assert "%E8" not in listed.output


@pytest.mark.parametrize("named", ["节.1", "节"])
def test_a_task_is_found_by_what_is_shown_of_it(server: Server, invoke: Invoke, named: str) -> None:
    whole = task_id(ID, node_path("", "节"), 1)

    def retry(_: object) -> object:
        asked = server.body()["task"]
        return {"task": whole, "redone": []} if asked in (whole, node_path("", "节")) else None

    server.answers["GET", BASE] = {"id": ID, "state": "failed"}
    server.answers["POST", f"{BASE}/retry"] = retry
    done = invoke("run", "retry", ID, "--task", named, "--json")
    assert done.exit_code == 0, done.output
