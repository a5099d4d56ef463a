"""The blackboard over HTTP: read as it stands and as it stood, written by attempts, rebuilt."""

import asyncio
import sqlite3
from typing import Any

import asyncpg
import httpx

from tests.hand import HandWorker, named
from tests.integration.conftest import TOKEN, Served
from tests.integration.test_plans import start
from windlass.client import Client


class Hand(HandWorker):
    def write(self, attempt: dict[str, Any], key: str, **more: Any) -> httpx.Response:
        body = {**named(attempt), "key": key, **more}
        return self._http.post(f"{self._at}/blackboard", json=body)

    def read(self, attempt: dict[str, Any], **more: Any) -> httpx.Response:
        return self._http.post(f"{self._at}/blackboard/read", json={**named(attempt), **more})


def plan(service: str) -> dict[str, Any]:
    tasks = [
        {"alias": "a", "goal": "do a"},
        {"alias": "b", "goal": "do b", "depends_on": ["a"]},
    ]
    return {"goal": "say it", "plan": {"tasks": tasks}, "workerProfile": service}


def test_a_captured_revision_is_read_again_as_it_was(served: Served) -> None:
    worker = Hand(served.http, "board.read")
    run_id = start(served, **plan("board.read"))
    at = f"/api/v1/runs/{run_id}/blackboard"
    first = worker.take()
    key = f"bb.task.{first['taskId']}.progress.pages"
    revisions = [worker.write(first, key, payload=n).json()["revision"] for n in range(3)]
    for number, revision in enumerate(revisions):
        read = served.http.get(f"{at}/{key}", params={"revision": revision}).json()
        assert (read["payload"], read["revision"]) == (number, revision)
        answer = worker.read(first, key=key, revision=revision)
        assert answer.status_code == 200, answer.text
        mine = answer.json()["items"]
        assert mine[0]["payload"] == number
    between = served.http.get(f"{at}/{key}", params={"revision": revisions[0] - 1})
    assert between.status_code == 404, "nothing was there yet"
    past = served.http.get(f"{at}/{key}/revisions").json()["items"]
    assert [each["revision"] for each in past] == revisions[::-1]
    gone = worker.write(first, key, delete=True, expected=revisions[-1])
    assert gone.status_code == 200
    assert served.http.get(f"{at}/{key}").status_code == 404
    worker.finish(first, {"status": "completed", "summary": "done", "structured_output": {"n": 1}})
    second = worker.take()
    [goal, result] = second["input"]["blackboard"]
    assert goal["key"] == f"bb.run.{run_id}.context.goal"
    read = worker.read(second, key=result["key"], revision=result["revision"]).json()["items"][0]
    assert read["payload"]["structured_output"] == {"n": 1}
    keys = [each["key"] for each in worker.read(second, prefix="bb.").json()["items"]]
    assert keys == sorted([goal["key"], result["key"]])
    worker.finish(second, 1)


def test_whoever_may_not_write_changes_nothing(served: Served) -> None:
    worker = Hand(served.http, "board.refused")
    run_id = start(served, **plan("board.refused"))
    taken = worker.take()
    own = f"bb.task.{taken['taskId']}"
    assert worker.write(taken, f"bb.run.{run_id}.context.goal", payload=1).status_code == 403
    assert worker.write(taken, f"{own}.verifier.note", payload=1).status_code == 403
    assert worker.write(taken, f"{own}.nowhere.x", payload=1).status_code == 400
    assert worker.write(taken, f"{own}.result.x", payload=1).status_code == 400
    assert worker.write(taken, f"{own}.result.x", payload=1, expected=7).status_code == 409
    assert worker.write({**taken, "token": "0" * 32}, f"{own}.progress.x").status_code == 409
    keys = served.http.get(f"/api/v1/runs/{run_id}/blackboard").json()["items"]
    assert [each["key"] for each in keys] == [f"bb.run.{run_id}.context.goal"]
    served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
    served.wait(run_id)


def test_what_was_wiped_is_rebuilt_from_the_record(served: Served) -> None:
    worker = Hand(served.http, "board.wiped")
    run_id = start(served, **plan("board.wiped"))
    for number in range(2):
        worker.finish(worker.take(), {"n": number})
    served.wait(run_id)
    at = f"/api/v1/runs/{run_id}/blackboard"
    before = {e["key"]: e["payload"] for e in served.http.get(at).json()["items"]}
    assert len(before) == 3
    wipe(served, run_id)
    assert served.http.get(at).json()["items"] == []
    rebuilt = served.http.post(f"/orchestration/runs/{run_id}/blackboard/rebuild", json={})
    assert rebuilt.json() == {
        "run_context_written": 1,
        "task_results_written": 2,
        "write_errors": 0,
        "blackboard_configured": True,
    }
    assert {e["key"]: e["payload"] for e in served.http.get(at).json()["items"]} == before
    with Client(served.server.url, token=TOKEN) as client:
        run = client.run(run_id)
        [goal] = run.blackboard(f"bb.run.{run_id}").items
        assert run.board_entry(goal.key).payload["goal"] == "say it"
        assert len(run.board_revisions(goal.key).items) == 1


def wipe(served: Served, run_id: str) -> None:
    if served.db.startswith("sqlite"):
        with sqlite3.connect(served.db.removeprefix("sqlite:///")) as db:
            db.execute("delete from blackboard where run_id = ?", (run_id,))
        return

    async def delete() -> None:
        connection = await asyncpg.connect(served.db)
        try:
            await connection.execute("delete from windlass.blackboard where run_id = $1", run_id)
        finally:
            await connection.close()

    asyncio.run(delete())
