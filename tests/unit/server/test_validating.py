"""Definitions are checked beside the event loop: whoever asks for something else has an answer."""

import json
import threading
from types import ModuleType
from typing import Any

import pytest

from tests.unit.server.audit import api
from windlass.dialects.flow import compile_flow
from windlass.engine import flows as engine_flows
from windlass.server.api import flows as api_flows
from windlass.server.compat.pocketflow import flows as pocketflow_flows

pytestmark = pytest.mark.anyio

CASES = 1_000
"""More than is checked in no time."""


def large() -> dict[str, Any]:
    cases = [
        {"action": f"x{number}", "expr": {"eq": ["$params.n", number]}} for number in range(CASES)
    ]
    call = {"exec_type": "local_func", "func": "f"}
    nodes = {"a": {"kind": "choice", "choice_cases": cases}, "b": call}
    edges = [{"from": "a", "action": f"x{number}", "to": "b"} for number in range(CASES)]
    return {"start": "a", "nodes": nodes, "edges": edges}


@pytest.mark.parametrize(
    ("path", "checks"),
    [
        ("/api/v1/flows/validate", api_flows),
        ("/api/v1/flows/large/versions", engine_flows),
        ("/api/flows/version", pocketflow_flows),
    ],
)
async def test_a_large_definition_is_checked_in_a_thread_of_its_own(
    monkeypatch: pytest.MonkeyPatch, path: str, checks: ModuleType
) -> None:
    threads = set[int]()

    def noted(*args: Any, **named: Any) -> Any:
        threads.add(threading.get_ident())
        return compile_flow(*args, **named)

    monkeypatch.setattr(checks, "compile_flow", noted)
    async with api() as said:
        made = await said.http.post("/api/flows", json={"Name": "pocket"})
        body = {"FlowID": made.json()["id"], "DefinitionJSON": json.dumps(large())}
        body = body if path == "/api/flows/version" else {"definition": large()}
        answer = await said.http.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
    assert threads
    assert threading.get_ident() not in threads
