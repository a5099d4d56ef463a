"""Lists: what a page may ask for, on every path that gives one."""

from typing import Any

import pytest

from tests.integration.link.conftest import LinkServer
from windlass.server.app import NATIVE

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


async def test_a_page_of_no_rows_is_refused(server: LinkServer) -> None:
    run_id = (await server.http.post("/api/v1/runs", json=await a_run(server))).json()["id"]
    lists = [
        route.path.format(id=run_id)
        for route in NATIVE
        if route.method == "GET" and "limit" in route.query and "{name}" not in route.path
    ]
    assert len(lists) > 15
    for path in lists:
        answer = await server.http.get(path, params={"limit": 0, "q": "waits"})
        assert answer.status_code == 400, (path, answer.text)
        assert "limit is at least 1" in answer.text or "/logs" in path, (path, answer.text)


async def a_run(server: LinkServer) -> Json:
    """The body that starts some run."""
    waits = {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}
    body = {"definition": {"start": "a", "nodes": {"a": waits}, "edges": []}}
    made = await server.http.post("/api/v1/flows/waits/versions", json=body)
    assert made.status_code in (200, 201), made.text
    return {"flow": "waits"}
