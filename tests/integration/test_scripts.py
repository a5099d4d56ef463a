"""Scripts run where they are allowed, and end in every way a program can end."""

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
