"""Results that are judged, over HTTP: by another worker, by what is built in, by people."""

from typing import Any

from tests.hand import HandWorker
from tests.integration.conftest import Served


def definition(service: str, policy: dict[str, Any], **call: Any) -> dict[str, Any]:
    return {
        "start": "make",
        "on_failure": "fail",
        "nodes": {
            "make": {
                "exec_type": "queue",
                "service": service,
                "verification": policy,
                "post": {"output_key": "made"},
                **call,
            }
        },
    }


def test_a_worker_judges_what_another_made(served: Served) -> None:
    policy = {"verifier_profile": "judge-1", "on_reject": "retry"}
    served.push("judged", definition("judged-make", policy, max_retries=2))
    maker, judge = HandWorker(served.http, "judged-make"), HandWorker(served.http, "judge-1")
    run_id = served.start("judged")
    maker.finish(maker.take(), {"text": "short"})
    brief = judge.take()
    assert brief["role"] == "verify"
    assert brief["input"]["result"]["structured_output"] == {"text": "short"}
    why = served.http.get(f"/api/v1/runs/{run_id}/why").json()
    assert "is verified by hand-judge-1" in why["line"]
    judge.finish(brief, {"verdict": "rejected", "summary": "say more"})
    again = maker.take()
    assert (again["role"], again["number"]) == ("work", 3)
    assert [told["summary"] for told in again["feedback"]] == ["say more"]
    maker.finish(again, {"text": "long enough"})
    assert served.http.get(f"/api/v1/runs/{run_id}").json()["state"] == "running"
    judge.finish(judge.take(), {"verdict": "accepted"})
    assert served.wait(run_id)["state"] == "succeeded"
    attempts = served.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
    assert [row["role"] for row in attempts] == ["work", "verify", "work", "verify"]
    assert attempts[0]["output"] == {"text": "short"}, "what was rejected stays in the record"


def test_what_is_built_in_judges_by_rules(served: Served) -> None:
    policy = {"mode": "builtin_basic", "require_structured_output": True}
    served.push("basic", definition("basic-make", policy))
    maker = HandWorker(served.http, "basic-make")

    def ended(output: Any) -> dict[str, object]:
        run_id = served.start("basic")
        maker.finish(maker.take(), output)
        return served.wait(run_id)

    assert ended({"n": 1})["state"] == "succeeded"
    failed = ended({})
    assert failed["state"] == "failed"
    assert "structured output" in str(failed["error"])


def test_a_person_is_asked_and_decides(served: Served) -> None:
    policy = {"verifier_profile": "judge-2", "on_reject": "ask"}
    served.push("asked", definition("asked-make", policy))
    maker = HandWorker(served.http, "asked-make")
    judge = HandWorker(served.http, "judge-2")
    run_id = served.start("asked")
    maker.finish(maker.take(), {"total": 41})
    judge.finish(judge.take(), {"verdict": "rejected", "summary": "it should be 42"})
    [asked] = served.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
    assert asked["show"] == {"total": 41}
    assert [option["id"] for option in asked["options"]] == ["accept", "retry", "fail"]
    path = f"/api/v1/checkpoints/{asked['id']}/resolve"
    refused = served.http.post(path, json={"answer": "perhaps"})
    assert refused.status_code == 400, refused.text
    assert served.http.post(path, json={"answer": "accept", "note": "near"}).status_code == 200
    assert served.wait(run_id)["state"] == "succeeded"
