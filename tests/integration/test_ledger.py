"""The ledger over HTTP: workers say what they do, people read it and allow what stays done."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.hand import HandWorker, named
from tests.integration.conftest import TOKEN, Served
from tests.integration.test_plans import start
from tests.integration.test_recovery import SERVICES
from windlass.client import Client
from windlass.testing.processes import (
    Process,
    ServerProcess,
    started,
    wait_until,
    worker_process,
)


def one_task(service: str, **more: Any) -> dict[str, Any]:
    tasks = [{"alias": "a", "goal": "do a", **more}]
    return {"goal": "act", "plan": {"tasks": tasks}, "workerProfile": service}


class Hand(HandWorker):
    """A worker that says by hand what it does outside."""

    def begin(self, attempt: dict[str, Any], call: str, tool: str, **more: Any) -> httpx.Response:
        body = {**named(attempt), "callId": call, "tool": tool, **more}
        return self._http.post(f"{self._at}/actions", json=body)

    def end(self, attempt: dict[str, Any], call: str, **more: Any) -> httpx.Response:
        body = {**named(attempt), "callId": call, "state": "completed", **more}
        return self._http.post(f"{self._at}/actions/end", json=body)


def actions(served: Served, run_id: str, **query: str) -> list[dict[str, Any]]:
    answer = served.http.get(f"/api/v1/runs/{run_id}/actions", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_what_an_attempt_does_is_seen_while_it_runs_and_unknown_if_it_dies(served: Served) -> None:
    worker = Hand(served.http, "ledger.seen")
    run_id = start(served, **one_task("ledger.seen", retry_policy={"max_attempts": 2}))
    taken = worker.take()
    assert worker.begin(taken, "c1", "web_fetch", input={"url": "u"}).json() == {
        "status": "accepted"
    }
    [seen] = actions(served, run_id)
    assert (seen["tool"], seen["effect"], seen["state"]) == (
        "web_fetch",
        "external_read",
        "running",
    )
    assert worker.end(taken, "c1", output={"n": 1}, summary="one page").status_code == 200
    assert worker.begin(taken, "c2", "charge", effect="external_write").status_code == 200
    worker.fail(taken, "died of it")
    again = worker.take()
    states = {row["callId"]: row["state"] for row in actions(served, run_id)}
    assert states == {"c1": "completed", "c2": "unknown"}
    assert [row["callId"] for row in actions(served, run_id, state="unknown")] == ["c2"]
    assert [row["callId"] for row in actions(served, run_id, tool="charge")] == ["c2"]
    assert actions(served, run_id, task="a", effect="external_irreversible") == []
    late = worker.begin(taken, "c3", "web_fetch")
    assert late.status_code == 409, "whoever has lost its task begins nothing"
    worker.finish(again, 1)
    types = [e["type"] for e in served.http.get(f"/api/v1/runs/{run_id}/events").json()["items"]]
    assert types.count("action.began") == 2
    inspected = served.http.get(f"/orchestration/runs/{run_id}/inspector").json()
    assert [row["status"] for row in inspected["action_records"]] == ["completed", "unknown"]


def test_a_tool_that_nobody_knows_is_refused_by_policy(served: Served) -> None:
    worker = Hand(served.http, "ledger.policy")
    start(served, **one_task("ledger.policy"))
    taken = worker.take()
    refused = worker.begin(taken, "c1", "frobnicate")
    assert (refused.status_code, "in no policy" in refused.text) == (400, True)
    milder = worker.begin(taken, "c1", "send_email", effect="env_local_read")
    assert (milder.status_code, "needs an approval" in milder.text) == (403, True)
    stranger = worker.begin({**taken, "token": "0" * 32}, "c1", "web_fetch")
    assert stranger.status_code == 409
    worker.finish(taken, 1)


def test_an_approval_is_shown_once_used_once_and_nowhere_to_be_read(served: Served) -> None:
    worker = Hand(served.http, "ledger.approved")
    run_id = start(served, **one_task("ledger.approved"))
    taken = worker.take()
    path = f"/orchestration/runs/{run_id}/tasks/{taken['taskId']}/approvals"
    body = {"effect_class": "external_irreversible", "reason": "ann knows", "expires_in_s": 60}
    answer = served.http.post(path, json=body)
    assert answer.status_code == 201
    made = answer.json()
    assert set(made) == {"id", "token", "expires_at"}
    told = {"to": "bob", "approval_token": made["token"]}
    mail = {"input": told, "approvalToken": made["token"]}
    assert worker.begin(taken, "m1", "send_email", **mail).status_code == 200
    assert worker.begin(taken, "m1", "send_email", **mail).json() == {"status": "duplicate"}
    second = worker.begin(taken, "m2", "send_email", **mail)
    assert (second.status_code, "counts once" in second.text) == (403, True)
    worker.end(taken, "m1", output={"sent": True, "with": made["token"]})
    [listed] = served.http.get(path).json()["items"]
    assert (listed["status"], listed["consumed_action_id"]) == (
        "consumed",
        f"{taken['attemptId']}!m1",
    )
    gone = served.http.delete(f"{path}/{made['id']}")
    assert gone.status_code == 409, "what was used cannot be taken back"
    worker.finish(taken, 1)
    for read in ("actions", "approvals", "events", "attempts", "tasks"):
        assert made["token"] not in served.http.get(f"/api/v1/runs/{run_id}/{read}").text
    assert made["token"] not in served.http.get(f"/orchestration/runs/{run_id}/inspector").text
    assert made["token"] not in served.http.get("/api/v1/audit").text
    [action] = actions(served, run_id)
    assert action["input"] == {"to": "bob", "approval_token": "[approval token]"}


def test_an_approval_handed_over_in_an_answer_leaves_its_token_nowhere(served: Served) -> None:
    worker = Hand(served.http, "ledger.handed")
    run_id = start(served, **one_task("ledger.handed"))
    asking = {"question": "May I?", "options": [{"id": "own", "kind": "freeform"}]}
    worker.finish(worker.take(), {"status": "waiting", "checkpoint": asking})
    made = served.http.post(f"/api/v1/runs/{run_id}/tasks/a/approvals", json={"reason": "r"}).json()
    question = next(
        item
        for item in served.http.get("/api/v1/checkpoints").json()["items"]
        if item["runId"] == run_id
    )
    answer = {"answer": f"yes: {made['token']}.", "note": made["token"]}
    path = f"/api/v1/checkpoints/{question['id']}/resolve"
    assert served.http.post(path, json=answer).status_code == 200
    taken = worker.take()
    [told] = taken["input"]["answers"]
    assert told["freeform_input"] == f"yes: approval:{made['id']}."
    wrong = worker.begin(taken, "m", "send_email", approvalToken="approval:none")
    assert wrong.status_code == 403
    handed = f"approval:{made['id']}"
    assert worker.begin(taken, "m", "send_email", approvalToken=handed).status_code == 200
    assert worker.begin(taken, "n", "send_email", approvalToken=handed).status_code == 403
    worker.finish(taken, 1)
    for read in ("actions", "approvals", "events", "attempts", "tasks", "blackboard"):
        assert made["token"] not in served.http.get(f"/api/v1/runs/{run_id}/{read}").text
    assert made["token"] not in served.http.get(f"/orchestration/runs/{run_id}/inspector").text
    assert made["token"] not in served.http.get("/api/v1/audit").text
    assert made["token"] not in served.http.get(f"/api/v1/checkpoints/{question['id']}").text


def test_a_reference_to_an_approval_that_nobody_showed_opens_nothing(served: Served) -> None:
    worker = Hand(served.http, "ledger.guessed")
    run_id = start(served, **one_task("ledger.guessed"))
    taken = worker.take()
    made = served.http.post(f"/api/v1/runs/{run_id}/tasks/a/approvals", json={"reason": "r"}).json()
    guessed = worker.begin(taken, "m", "send_email", approvalToken=f"approval:{made['id']}")
    assert (guessed.status_code, "no approval for attempt" in guessed.text) == (403, True)
    worker.finish(taken, 1)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"effect_class": "external_write", "reason": "r"}, 400),
        ({"effect_class": "harmless", "reason": "r"}, 400),
        ({"effect_class": "external_irreversible", "reason": " "}, 400),
        ({"effect_class": "external_irreversible", "reason": "r", "expires_in_s": 0}, 400),
        ({"effect_class": "external_irreversible", "reason": "r", "expires_in_s": 1e9}, 400),
        ({"effect_class": "external_irreversible", "reason": "r", "task_id": "other"}, 400),
    ],
)
def test_a_wrong_approval_is_refused_and_changes_nothing(
    served: Served, body: dict[str, Any], status: int
) -> None:
    worker = Hand(served.http, "ledger.wrong")
    run_id = start(served, **one_task("ledger.wrong"))
    taken = worker.take()
    path = f"/orchestration/runs/{run_id}/tasks/{taken['taskId']}/approvals"
    assert served.http.post(path, json=body).status_code == status
    assert served.http.get(path).json() == {"items": []}
    assert served.http.post(f"{path}x", json=body).status_code == 404
    missing = path.replace("~a.0", "~zzz.0")
    assert served.http.post(missing, json={**body, "reason": "r"}).status_code == 404
    worker.finish(taken, 1)


def test_the_sdk_and_the_command_line_speak_of_it_alike(served: Served) -> None:
    worker = Hand(served.http, "ledger.sdk")
    run_id = start(served, **one_task("ledger.sdk"))
    taken = worker.take()
    with Client(served.server.url, token=TOKEN) as client:
        run = client.run(run_id)
        made = run.approve("a", "right", expires_in_s=30)
        assert made.token
        assert made.token.startswith("wla_")
        [listed] = run.approvals(task="a").items
        assert (listed.state, listed.approved_by != "") == ("active", True)
        run.revoke(made.id)
        assert run.approvals().items[0].state == "revoked"
        refused = worker.begin(taken, "m", "send_email", approvalToken=made.token)
        assert refused.status_code == 403
        worker.begin(taken, "r", "read")
        [seen] = run.actions(state="running").items
        assert seen.tool == "read"
    worker.finish(taken, 1)


def test_only_a_hash_of_the_token_is_at_rest(tmp_path: Path) -> None:
    """On a database of its own, to be read byte by byte."""
    file = tmp_path / "w.db"
    server = ServerProcess(f"sqlite:///{file}", "--admin-token", TOKEN, log=tmp_path / "log")
    with started(server):
        mine = Served(server, f"sqlite:///{file}")
        worker = Hand(mine.http, "rest")
        run_id = start(mine, **one_task("rest"))
        taken = worker.take()
        path = f"/api/v1/runs/{run_id}/tasks/a/approvals"
        token = mine.http.post(path, json={"reason": "right"}).json()["token"]
        worker.begin(taken, "m", "send_email", approvalToken=token, input={"token": token})
        worker.finish(taken, 1)
        wait_until(lambda: mine.http.get(f"/api/v1/runs/{run_id}").json()["state"] == "succeeded")
        mine.http.close()
    with sqlite3.connect(file) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    secret = token.rpartition("_")[2].encode()
    assert secret not in file.read_bytes()


def acting(transport: str, **params: Any) -> dict[str, Any]:
    exec_type = {"pull": "queue", "push": "http"}[transport]
    node = {"exec_type": exec_type, "service": "acting", "params": params}
    return {"start": "a", "nodes": {"a": node}}


@pytest.mark.parametrize("transport", ["pull", "push"])
def test_what_a_killed_worker_was_doing_is_listed_as_unknown(
    served: Served, tmp_path: Path, transport: str
) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    name = f"acting-{transport}"
    served.push(name, acting(transport, seconds=30))

    def worker(number: int) -> Process:
        return worker_process(
            "slow_services:worker",
            served.server.url,
            transport,
            "--id",
            f"{name}-{number}",
            token=TOKEN,
            path=[SERVICES],
            log=tmp_path / f"worker-{number}.log",
        )

    os.environ["EFFECTS"] = str(effects)
    first, second = worker(1), worker(2)
    with started(first):
        run_id = served.start(name)
        wait_until(lambda: "charging" in effects.read_text())
        assert [row["state"] for row in actions(served, run_id)] == ["running"]
        first.kill()
        with started(second):
            assert served.wait(run_id, 60)["state"] == "succeeded"
    states = [(row["state"], row["input"]["try"]) for row in actions(served, run_id)]
    assert states[0] == ("unknown", 1)
    assert states[-1][0] == "completed"
    assert [row["state"] for row in actions(served, run_id, state="unknown")] == ["unknown"]
