"""Lists read the columns they show and no payloads."""

from typing import Any

import pytest

from tests.unit.server.audit import WAITS, Said, api
from windlass.model.rows import Row, Run
from windlass.ports.store import Store

pytestmark = pytest.mark.anyio

BIG = {"text": "x" * 100_000}


async def read_whole(
    said: Said, path: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[set[str], Any]:
    """The tables with payloads of which a call reads whole rows, and its answer."""
    found: set[str] = set()
    store: Store = said.local.engine.store
    page = store.page

    async def noted(table: type[Row], *args: Any, heavy: bool = True, **given: Any) -> list[Row]:
        if heavy and table.HEAVY:
            found.add(table.TABLE)
        return await page(table, *args, heavy=heavy, **given)

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "page", lambda _self, *args, **given: noted(*args, **given))
        answer = await said.http.get(path)
    assert answer.status_code == 200, answer.text
    return found, answer.json()


async def test_lists_of_runs_read_no_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    async with api() as said:
        await said.act("POST /api/v1/flows/{name}/versions", {"definition": WAITS}, name="f")
        await said.act("POST /api/v1/runs", {"flow": "f", "params": BIG})
        whole, native = await read_whole(said, "/api/v1/runs?q=flow:f", monkeypatch)
        assert (whole, native["items"][0]["params"]) == (set(), None)
        whole, clients = await read_whole(said, "/api/v1/runs", monkeypatch)
        assert (whole, clients["items"][0]["runId"]) == (set(), native["items"][0]["id"])
        [run] = said.local.database.table(Run).values()
        assert len(run.params) > 100_000


async def test_lists_of_versions_read_no_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    async with api() as said:
        await said.act("POST /api/v1/flows/{name}/versions", {"definition": WAITS}, name="f")
        path = "/api/v1/flows/f/versions"
        whole, listed = await read_whole(said, path, monkeypatch)
        assert (whole, listed["items"][0]["definition"]) == (set(), None)
        whole, one = await read_whole(said, f"{path}/1", monkeypatch)
        assert (whole, one["definition"]["start"]) == ({"versions"}, "a")


async def test_lists_of_images_read_no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    async with api() as said:
        whole, _ = await read_whole(said, "/api/v1/envs/images", monkeypatch)
        assert whole == set()
