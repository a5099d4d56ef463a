"""Drift: whether anything in a place is another than when it was made, and which files are."""

from typing import Any

from click.testing import CliRunner

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_envs import Hand, flow, make, session_of
from windlass.cli.main import cli
from windlass.testing.processes import wait_until

HELLO = {"files": {"hello.txt": "hi", "old.txt": "1"}}


def begun(served: Served, name: str, **made: Any) -> tuple[Hand, Any]:
    """A worker with an attempt in a place."""
    make(served, name, **made)
    served.push(f"env-{name}", flow(f"env.{name}", name))
    worker = Hand(served.http, f"env.{name}")
    served.start(f"env-{name}")
    return worker, worker.take()


def test_the_last_look_names_the_files_that_changed_and_so_does_the_command(served: Served) -> None:
    worker, taken = begun(served, "drifts", config=HELLO)
    assert worker.write(taken, "made/new.txt", "work").status_code == 200
    assert worker.write(taken, "hello.txt", "ho").status_code == 200
    assert worker.env(taken, "exec", command=["rm", "old.txt"]).json()["code"] == 0
    worker.finish(taken, 1)
    wait_until(lambda: session_of(served, taken)["state"] == "released")
    over = session_of(served, taken)
    first, last = over["snapshots"]
    assert (over["drift"], first["files"]) == ("changed", None)
    assert last["files"] == {
        "added": ["/workspace/made/new.txt"],
        "changed": ["/workspace/hello.txt"],
        "removed": ["/workspace/old.txt"],
        "more": 0,
    }
    at_server = {"WINDLASS_URL": served.server.url, "WINDLASS_TOKEN": TOKEN}
    shown = CliRunner().invoke(cli, ["env", "show", over["id"]], env=at_server)
    assert shown.exit_code == 0, shown.output
    lines = ["+ /workspace/made/new.txt", "~ /workspace/hello.txt", "- /workspace/old.txt"]
    assert shown.output.splitlines()[-3:] == lines


def test_a_snapshot_that_is_taken_by_hand_names_them_too(served: Served) -> None:
    worker, taken = begun(served, "looked")
    at = f"/api/v1/envs/sessions/{session_of(served, taken)['id']}/snapshots"
    assert served.http.post(at).json()["files"] is None
    for number in range(201):
        worker.write(taken, f"f{number:03}", "1")
    files = served.http.post(at).json()["files"]
    assert (len(files["added"]), files["more"]) == (200, 1)
    assert files["added"][0] == "/workspace/f000"
    worker.finish(taken, 1)


def test_nothing_changed_is_no_drift(served: Served) -> None:
    make(served, "calm")
    served.push("env-calm", flow("env.calm", "calm"))
    worker = Hand(served.http, "env.calm")
    served.start("env-calm")
    taken = worker.take()
    worker.env(taken, "exec", command=["true"])
    worker.finish(taken, 1)
    wait_until(lambda: session_of(served, taken)["state"] == "released")
    calm = session_of(served, taken)
    assert calm["drift"] == "unchanged"
    assert [one["files"] for one in calm["snapshots"]] == [None, None]


def test_a_verifier_sees_what_was_changed(served: Served) -> None:
    make(served, "judged", config={"files": {"hello.txt": "hi"}}, capacity=2)
    body = flow("env.judged", "judged")
    body["nodes"]["a"]["verification"] = {"verifier_profile": "env.judge"}
    served.push("env-judged", body)
    worker, judge = Hand(served.http, "env.judged"), Hand(served.http, "env.judge")
    for text, drift in (("hi", "unchanged"), ("ho", "changed")):
        run_id = served.start("env-judged")
        taken = worker.take()
        worker.write(taken, "hello.txt", text)
        worker.finish(taken, 1)
        asked = judge.take()
        told = asked["input"]["env_drift"]
        assert told["status"] == drift
        assert (told["before_digest"] == told["after_digest"]) is (drift == "unchanged")
        assert [one["kind"] for one in told["snapshots"]] == ["pre_action", "post_action"]
        judge.finish(asked, {"verdict": "accepted"})
        assert served.wait(run_id)["state"] == "succeeded"
        wait_until(lambda: session_of(served, taken)["state"] == "released")  # noqa: B023
        assert session_of(served, taken)["drift"] == drift
