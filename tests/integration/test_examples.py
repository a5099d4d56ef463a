"""Every example flow ends as it should, over HTTP, with push and pull workers, on both stores."""

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "flows"
CASES: list[dict[str, Any]] = json.loads((EXAMPLES / "expected.json").read_text())


def publish(served: Any, file: Path) -> None:
    if file.suffix == ".json":
        served.push(file.stem, json.loads(file.read_text()))
        return
    answer = served.http.post(
        f"/api/v1/flows/{file.stem}/versions",
        content=file.read_bytes(),
        headers={"Content-Type": "application/yaml"},
    )
    assert answer.status_code in (200, 201), answer.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['file']}-{case['params']}")
def test_an_example_ends_in_the_state_it_names(served: Any, case: dict[str, Any]) -> None:
    file = EXAMPLES / case["file"]
    publish(served, file)
    run_id = served.start(file.stem, case["params"])
    for key, value in case["signals"].items():
        answer = served.http.post(
            f"/api/v1/runs/{run_id}/signal", json={"key": key, "value": value}
        )
        assert answer.status_code == 200, answer.text
    run = served.wait(run_id)
    assert (run["state"], run["shared"]) == (case["state"], case["shared"]), run["error"]
