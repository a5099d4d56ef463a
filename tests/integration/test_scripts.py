"""Scripts run where they are allowed, and end in every way a program can end."""

from pathlib import Path
from typing import Any

import pytest


def flow(**script: Any) -> dict[str, Any]:
    node = {"exec_type": "local_script", "script": script, "post": {"output_key": "out"}}
    return {"start": "a", "nodes": {"a": node}, "edges": []}


@pytest.mark.parametrize("number", range(8))
def test_a_script_that_reads_no_input_may_end_at_once(served: Any, number: int) -> None:
    served.push(f"quick{number}", flow(cmd="true", stdin_mode="json"))
    assert served.run(f"quick{number}", {"big": "x" * 100_000})["state"] == "succeeded"


def test_a_script_gets_its_input_and_gives_json(served: Any) -> None:
    code = "import json, sys; d = json.load(sys.stdin); print(json.dumps(d['params']['n'] * 2))"
    served.push("double", flow(language="python", code=code, stdin_mode="json", output_mode="json"))
    assert served.run("double", {"n": 21})["shared"] == {"out": 42}


def test_a_script_that_fails_says_with_what(served: Any) -> None:
    served.push("fails", flow(cmd="sh", args=["-c", "echo oh no >&2; exit 3"]))
    run = served.run("fails")
    assert run["error"]["message"] == "script exited with 3: oh no"


def test_a_script_that_hangs_is_ended(served: Any) -> None:
    served.push("hangs", flow(cmd="sleep", args=["60"], timeout_ms=200))
    run = served.run("hangs")
    assert run["error"]["kind"] == "timeout"


def test_a_program_that_is_not_there_is_named(served: Any) -> None:
    served.push("absent", flow(cmd="no-such-program-here"))
    assert "no-such-program-here" in served.run("absent")["error"]["message"]


def test_what_a_script_writes_is_read_while_it_runs(served: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = f"echo één; printf half; until [ -e {gate} ]; do sleep 0.1; done; echo ' done'; echo bye"
    served.push("talks", flow(code=code, timeout_ms=60_000))
    run_id = served.start("talks")
    logs = f"/api/v1/runs/{run_id}/logs"

    def texts(**params: Any) -> list[str]:
        items = served.http.get(logs, params=params).json()["items"]
        return [item["text"] for item in items]

    try:
        assert texts(waitMs=20_000) == ["één"]
        lines = served.http.get("/api/tasks/runs", params={"task_id": f"task-{run_id}"}).json()
        kept = served.http.get("/api/tasks/logs", params={"run_id": lines[0]["id"]}).json()
        assert kept == {"content": "één\n"}
    finally:
        gate.touch()
    assert served.wait(run_id)["shared"] == {"out": "één\nhalf done\nbye\n"}
    assert texts() == ["één", "half done", "bye"], "nothing twice"
