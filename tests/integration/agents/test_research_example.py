"""Agents that research, are rejected, plan anew and ask a person: the example, without a key."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agents.agents import Plans, agents_process

EXAMPLE = Path(__file__).parents[3] / "examples" / "plans" / "05-research"


@pytest.fixture
def model_url() -> Iterator[str]:
    """The scripted model as people start it."""
    command = [sys.executable, "-m", "windlass.testing.models", str(EXAMPLE / "model.yaml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


def test_the_research_example_comes_to_what_it_says(
    plans: Plans, model_url: str, folder: Path
) -> None:
    log = folder / "research.log"
    expected = json.loads((EXAMPLE / "expected.json").read_text())
    with agents_process(plans.server, model_url, "--tools", "library", folder=EXAMPLE, log=log):
        run_id = plans.start(expected["goal"])
        question = plans.question(run_id)
        path = f"/api/v1/checkpoints/{question['id']}/resolve"
        answered = plans.http.post(path, json={"answer": expected["answer"]})
        assert answered.status_code == 200, answered.text
        run = plans.wait(run_id)
    assert (run["state"], run["output"]) == (expected["state"], expected["output"]), run["error"]
    revisions = plans.http.get(f"/api/v1/runs/{run_id}/revisions").json()["items"]
    assert len(revisions) == 2
    # What was found out before the plan was made anew is not found out again.
    work = [row for row in plans.attempts(run_id) if row["role"] == "work"]
    done = Counter(row["taskId"].rpartition("~")[2].removesuffix(".0") for row in work)
    assert done == expected["done"]
