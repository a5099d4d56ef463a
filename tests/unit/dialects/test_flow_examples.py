"""Every example flow compiles, and every one of them has an expected end."""

import json
from pathlib import Path
from typing import Any

import pytest

from windlass.dialects.flow import compile_flow, read_definition

FLOWS = Path(__file__).parents[3] / "examples" / "flows"
FILES = sorted(path.name for path in FLOWS.glob("[0-9]*"))


@pytest.mark.parametrize("name", FILES)
def test_an_example_compiles(name: str) -> None:
    graph = compile_flow(read_definition((FLOWS / name).read_text(encoding="utf-8")))
    assert set(graph.starts[""]) <= set(graph.nodes)


def test_every_example_has_an_expected_end_and_every_expectation_an_example() -> None:
    cases: list[dict[str, Any]] = json.loads((FLOWS / "expected.json").read_text(encoding="utf-8"))
    assert sorted({case["file"] for case in cases}) == FILES
    for case in cases:
        assert set(case) == {"file", "params", "signals", "state", "shared"}
        assert case["state"] in ("succeeded", "failed")
