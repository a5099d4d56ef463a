"""Every example plan ends as it should, with what is built in, on both stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Served

EXAMPLES = Path(__file__).parents[2] / "examples" / "plans"
CASES: list[dict[str, Any]] = json.loads((EXAMPLES / "expected.json").read_text())


def test_there_is_no_example_without_an_expectation() -> None:
    files = {file.name for file in EXAMPLES.glob("*.json")} - {"expected.json"}
    assert files == {case["file"] for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_an_example_plan_comes_to_what_it_says(served: Served, case: dict[str, Any]) -> None:
    plan = json.loads((EXAMPLES / case["file"]).read_text())
    body = {"dialect": "plan", "goal": plan["summary"], "plan": plan}
    answer = served.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    run = served.wait(str(answer.json()["id"]))
    assert (run["state"], run["failures"]) == (case["state"], case["failures"]), run["error"]
    assert run["output"] == case["output"]
