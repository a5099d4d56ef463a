"""A run's logs are one stream: in the order of time, live, each entry once, narrowed as asked."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from windlass.testing.processes import ServerProcess, started, worker_process

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
MODES = [("pull", "queue"), ("push", "http"), ("link", "queue")]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def server(
    module_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("stream") / "log"
    args = ("--no-auth", "--allow-scripts")
    with ServerProcess(module_database, *args, log=log) as found:
        yield found


class Talk:
    """A run whose tasks say what the test wants them to."""

    def __init__(self, http: httpx.AsyncClient, folder: Path, run: str) -> None:
        self.http = http
        self.run = run
        self._folder = folder

    def say(self, name: str, *lines: str) -> None:
        with (self._folder / name).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    async def page(self, **query: str | int) -> Json:
        answer = await self.http.get(f"/api/v1/runs/{self.run}/logs", params=query)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def all(self, **query: str | int) -> list[Json]:
        """All entries there are now, page by page."""
        items: list[Json] = []
        cursor = ""
        while True:
            page = await self.page(**query, **({"cursor": cursor} if cursor else {}))
            items = page["items"] + items if "order" in query else items + page["items"]
            if page["next"] is None:
                return items
            cursor = page["next"]

    async def until(self, wanted: str) -> list[Json]:
        with anyio.fail_after(20):
            while True:
                items = await self.all()
                if wanted in [item["text"] for item in items]:
                    return items
                await anyio.sleep(0.05)

    async def ended(self) -> Json:
        answer = await self.http.get(f"/api/v1/runs/{self.run}", params={"waitMs": 20_000})
        found: Json = answer.json()
        return found


async def begin(http: httpx.AsyncClient, name: str, node: Json, params: Json) -> str:
    definition = {"start": "a", "nodes": {"a": node}}
    pushed = await http.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
    assert pushed.status_code in (200, 201), pushed.text
    started = await http.post("/api/v1/runs", json={"flow": name, "params": params})
    return str(started.json()["id"])


@asynccontextmanager
async def working(server: ServerProcess, folder: Path, mode: str) -> AsyncIterator[None]:
    worker = worker_process(
        *("log_services:worker", server.url, mode, "--id", f"w-{folder.name}"),
        *("--packages-dir", str(folder / "packages"), "--data-dir", str(folder / "data")),
        path=[HERE],
        log=folder / "worker.log",
    )
    await asyncio.to_thread(worker.start)
    try:
        yield
    finally:
        await asyncio.to_thread(worker.stop)


@asynccontextmanager
async def talking(
    server: ServerProcess, folder: Path, *names: str, mode: tuple[str, str] = MODES[0]
) -> AsyncIterator[Talk]:
    node = {
        "kind": "foreach",
        "parallel_mode": "concurrent",
        "service": "talk",
        "exec_type": mode[1],
        "timeout_ms": 60_000,
        "prep": {"input_key": "$params.items"},
    }
    items = [{"name": name, "folder": str(folder)} for name in names]
    async with (
        working(server, folder, mode[0]),
        httpx.AsyncClient(base_url=server.url, timeout=30) as http,
    ):
        run = await begin(http, f"talk-{mode[0]}", node, {"items": items})
        yield Talk(http, folder, run)


@pytest.mark.parametrize("mode", MODES, ids=[name for name, _ in MODES])
async def test_what_tasks_say_is_there_in_order_while_they_run_and_once_when_they_have_ended(
    server: ServerProcess, tmp_path: Path, mode: tuple[str, str]
) -> None:
    async with talking(server, tmp_path, "x", "y", mode=mode) as talk:
        talk.say("x", "one")
        await talk.until("one")
        talk.say("y", "warning|two")
        await talk.until("two")
        talk.say("x", "error|three\\nand its second line")
        live = await talk.until("three\nand its second line")
        run = (await talk.http.get(f"/api/v1/runs/{talk.run}")).json()
        assert run["state"] == "running"
        said = [(item["level"], item["text"]) for item in live]
        assert said == [
            (None, "one"),
            ("warning", "two"),
            ("error", "three\nand its second line"),
        ]
        assert [item["task"].rpartition("~")[2] for item in live] == ["0", "1", "0"]
        assert {item["attempt"] for item in live} == {1}
        assert live == sorted(live, key=lambda item: item["at"])
        assert live[0]["at"] >= run["startedAt"]
        talk.say("y", "info|four", "end")
        talk.say("x", "end")
        assert (await talk.ended())["state"] == "succeeded"
        assert [(item["level"], item["text"]) for item in await talk.all()] == [
            *said,
            ("info", "four"),
        ]
        assert (await talk.all())[:3] == live


async def test_pages_lose_nothing_and_repeat_nothing_while_lines_arrive(
    server: ServerProcess, tmp_path: Path
) -> None:
    names = ("x", "y", "z")
    lines = {name: [f"{name}{number}" for number in range(80)] for name in names}

    async def write(talk: Talk) -> None:
        for number in range(80):
            for name in names:
                talk.say(name, lines[name][number])
            await anyio.sleep(0.05)
        for name in names:
            talk.say(name, "end")

    async with talking(server, tmp_path, *names) as talk:
        followed: list[str] = []
        position = ""
        async with anyio.create_task_group() as group:
            group.start_soon(write, talk)
            with anyio.fail_after(30):
                while len(followed) < 240:
                    asked = {"cursor": position} if position else {}
                    page = await talk.page(limit=7, **asked)
                    followed += [item["text"] for item in page["items"]]
                    position = page["position"]
                    if page["next"] is None:
                        await anyio.sleep(0.02)
        for name in names:
            assert [text for text in followed if text[0] == name] == lines[name]
        assert len(followed) == 240
        await talk.ended()
        assert (await talk.page(cursor=position))["items"] == []
        whole = await talk.all(limit=11)
        assert sorted(item["text"] for item in whole) == sorted(followed)
        assert [item["at"] for item in whole] == sorted(item["at"] for item in whole)
        assert await talk.all(order="newest", limit=13) == whole
        newest = await talk.page(order="newest", limit=5)
        assert newest["items"] == whole[-5:]
        assert (await talk.page(cursor=newest["position"]))["items"] == []


async def test_who_waits_is_told_what_comes_by_another_server_and_when_the_run_ends(
    server: ServerProcess, module_database: str, tmp_path: Path
) -> None:
    async def wait(reader: httpx.AsyncClient, run: str, cursor: str) -> tuple[Json, float]:
        asked: dict[str, str | int] = {"waitMs": 15_000, "cursor": cursor}
        answer = await reader.get(f"/api/v1/runs/{run}/logs", params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json(), time.monotonic()

    other = ServerProcess(module_database, "--no-auth", log=tmp_path / "other.log")
    async with talking(server, tmp_path, "x") as talk:
        with started(other):
            async with httpx.AsyncClient(base_url=other.url, timeout=30) as reader:
                page = await talk.page()
                for text in ("one", "two"):
                    waits = asyncio.ensure_future(wait(reader, talk.run, page["position"]))
                    await asyncio.sleep(0.7)
                    assert not waits.done()
                    talk.say("x", text)
                    await talk.until(text)
                    kept = time.monotonic()
                    page, at = await waits
                    assert [item["text"] for item in page["items"]] == [text]
                    assert at - kept < 0.4
                waits = asyncio.ensure_future(wait(reader, talk.run, page["position"]))
                await asyncio.sleep(0.2)
                talk.say("x", "end")
                assert (await talk.ended())["state"] == "succeeded"
                ended = time.monotonic()
                page, at = await waits
                assert page["items"] == []
                assert at - ended < 0.4
        odd = f"/api/v1/runs/{talk.run}/logs?waitMs=5&order=newest"
        answer = await talk.http.get(odd)
        assert answer.status_code == 400
        assert "order=oldest" in answer.text


async def test_who_reads_the_newest_goes_on_with_what_comes_later(
    server: ServerProcess, tmp_path: Path
) -> None:
    async with talking(server, tmp_path, "x") as talk:
        talk.say("x", "one", "two")
        await talk.until("two")
        newest = await talk.page(order="newest", limit=1)
        assert [item["text"] for item in newest["items"]] == ["two"]
        older = await talk.page(order="newest", cursor=newest["next"])
        assert [item["text"] for item in older["items"]] == ["one"]
        assert (older["next"], older["position"]) == (None, None)
        talk.say("x", "three")
        await talk.until("three")
        later = await talk.page(cursor=newest["position"])
        assert [item["text"] for item in later["items"]] == ["three"]
        talk.say("x", "end")
        await talk.ended()


async def test_a_stream_is_narrowed_by_task_attempt_level_and_text(
    server: ServerProcess, tmp_path: Path
) -> None:
    node = {"service": "stumble", "exec_type": "queue", "max_retries": 1}
    async with (
        working(server, tmp_path, "pull"),
        httpx.AsyncClient(base_url=server.url, timeout=30) as http,
    ):
        talk = Talk(http, tmp_path, await begin(http, "stumble", node, {}))
        assert (await talk.ended())["state"] == "succeeded"
        first, trace, second = await talk.all()
        attempts = (await http.get(f"/api/v1/runs/{talk.run}/attempts")).json()["items"]
        assert (first["text"], first["level"]) == ("try 1", "info")
        assert trace["level"] == "error"
        assert trace["text"].startswith("Traceback")
        assert "KeyError: 'no such thing'" in trace["text"]
        assert (second["text"], second["attempt"]) == ("try 2", 2)
        # It came with the result alone, so its time is that of the attempt's end.
        assert second["at"] == attempts[1]["finishedAt"]
        assert await talk.all(attempt=1) == [first, trace]
        assert await talk.all(attempt=attempts[1]["id"]) == [second]
        assert await talk.all(task=first["task"], attempt=2) == [second]
        assert await talk.all(task=first["task"]) == [first, trace, second]
        assert await talk.all(task=f"{talk.run}~other.0") == []
        assert await talk.all(level="warning") == [trace]
        assert await talk.all(level="debug") == [first, trace, second]
        assert await talk.all(q="TRY 2") == [second]
        assert await talk.all(q="nothing like it") == []


async def test_lines_of_a_script_have_no_level_but_may_read_like_one(
    server: ServerProcess, tmp_path: Path
) -> None:
    code = "echo plain; echo 'ERROR: it broke'; echo; printf '\\033[33mWARNING\\033[0m low\\n'"
    node = {"exec_type": "local_script", "script": {"code": code}}
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        talk = Talk(http, tmp_path, await begin(http, "script", node, {}))
        await talk.ended()
        found = await talk.all()
        coloured = "\x1b[33mWARNING\x1b[0m low"
        assert [item["text"] for item in found] == ["plain", "ERROR: it broke", coloured]
        assert [item["level"] for item in found] == [None, None, None]
        assert [item["guess"] for item in found] == [None, "error", "warning"]
        assert [item["text"] for item in await talk.all(level="error")] == ["ERROR: it broke"]
        assert [item["text"] for item in await talk.all(q="warning low")] == [coloured]


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "nonsense"},
        {"cursor": "W10"},
        {"level": "loud"},
        {"attempt": "first"},
        {"attempt": "0"},
        {"attempt": "other~a.0@1"},
        {"task": "other~a.0"},
        {"order": "random"},
        {"limit": "0"},
        {"colour": "red"},
        {"q": "x" * 501},
    ],
)
async def test_a_filter_that_means_nothing_is_refused(
    server: ServerProcess, tmp_path: Path, query: dict[str, str]
) -> None:
    node = {"exec_type": "local_script", "script": {"code": "echo hi"}}
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        run = await begin(http, "script", node, {})
        answer = await http.get(f"/api/v1/runs/{run}/logs", params=query)
        assert answer.status_code == 400, answer.text
        gone = await http.get("/api/v1/runs/01890000-0000-7000-8000-000000000000/logs")
        assert gone.status_code == 404
