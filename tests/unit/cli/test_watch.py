"""Following a run on a terminal: counts, what to do next, and the outcome."""

from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.cli.progress import Snapshot, lines_of, look
from windlass.client import Client
from windlass.client.shapes import CheckpointInfo, FailureInfo, TaskInfo

ID = "01a1deba-e800-7681-b747-fb331afd5d7c"
BASE = f"/api/v1/runs/{ID}"
FAN: dict[str, Any] = {"id": f"{ID}~many.1", "node": "many", "kind": "foreach", "state": "running"}
FAN |= {"total": 200, "done": 20, "failed": 1}
ASK = {"id": f"{ID}~review.2", "node": "review", "kind": "approval", "state": "waiting"}


def tasks(request: httpx.Request) -> Any:
    items = {
        "": [FAN, ASK],
        "running": [FAN, *({"id": f"{ID}~many.1~{i}", "node": "", "index": i} for i in range(8))],
        "failed": [
            {"id": f"{ID}~many.1~9", "node": "", "index": 9, "error": {"message": "no\nlines"}}
        ],
    }
    return {"items": items[request.url.params.get("state", "")], "next": None}


def test_a_run_is_shown_by_counts_and_with_the_command_that_answers(server: Server) -> None:
    question = {"id": f"{ID}~review.2!0", "taskId": f"{ID}~review.2", "runId": ID, "prompt": "Ok?"}
    server.answers["GET", f"{BASE}/tasks"] = tasks
    server.answers["GET", "/api/v1/checkpoints"] = {"items": [question]}
    with Client("http://x", transport=httpx.MockTransport(server)) as client:
        many, review = lines_of(look(client, ID))
    assert (many.name, many.progress, many.note) == ("many", "✓19 ✗1 ▶8 ○172", "no")
    assert review.note == "Ok?\n→ windlass inbox approve 01a1deba-e800"
    assert server.requests[-1].url.params["run"] == ID


def test_two_questions_of_a_run_are_told_apart() -> None:
    asks = [TaskInfo(id=f"{ID}~a.{n}", node="a", kind="approval", state="waiting") for n in (1, 2)]
    questions = [CheckpointInfo(id=f"{t.id}!0", task_id=t.id, run_id=ID) for t in asks]
    notes = [line.note for line in lines_of(Snapshot(asks, {}, {}, questions))]
    assert [note.partition("approve ")[2] for note in notes] == [
        "01a1deba-e800~a.1",
        "01a1deba-e800~a.2",
    ]


def test_a_task_that_is_tried_again_says_when_and_why() -> None:
    task = TaskInfo(
        id=f"{ID}~a.1",
        node="a",
        kind="call",
        state="waiting",
        attempts=2,
        due_at=1000,
        error=FailureInfo(message="busy"),
    )
    [line] = lines_of(Snapshot([task], {}, {}, []))
    assert line.progress == "attempt 2"
    assert line.note.startswith("busy; again ")


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize(("state", "code"), [("succeeded", 0), ("failed", 1), ("cancelled", 1)])
def test_watching_ends_with_the_runs_outcome(
    server: Server, invoke: Invoke, state: str, code: int
) -> None:
    stream = b'id: 1\nevent: run.started\ndata: {"at": 1000}\n\n'
    ended = {"id": ID, "flow": "f", "state": state, "seq": 1, "createdAt": 1, "finishedAt": 1500}
    if state == "failed":
        ended["error"] = {"message": "boom", "node": "many"}
    server.answers["POST", "/api/v1/runs"] = {"id": ID, "state": "queued"}
    server.answers["GET", BASE] = ended
    server.answers["GET", f"{BASE}/tasks"] = {"items": [{**FAN, "state": state, "done": 200}]}
    server.answers["GET", f"{BASE}/events"] = lambda _: httpx.Response(200, content=stream)
    watched = invoke("run", "start", "f", "--watch")
    assert watched.exit_code == code
    assert "✓199 ✗1" in watched.stdout
    assert f"{state} in 1.5s" in watched.stderr
    assert ("windlass run retry 01a1deba-e800" in watched.stderr) is (state == "failed")
