"""Facts posted to a server: taken, refused for good one by one, and tried again otherwise."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.collector.harness import collecting, play, settings, until
from windlass.collector.server_sink import ServerSink
from windlass.collector.spool import SpooledEvent
from windlass.model.errors import Unavailable
from windlass.testing.kube import KubeServer
from windlass.testing.kube.kinds import FAILURES

pytestmark = pytest.mark.anyio


class Facts:
    """A server that takes facts, and refuses what it is told to refuse."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.bad: set[str] = set()
        self.statuses: list[int] = []
        """What the next requests are answered, before any is looked at."""
        self.tokens: set[str | None] = set()
        self.posts = 0
        facts = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                facts.tokens.add(self.headers["authorization"])
                self.send_response(facts.answer(self.path, msgspec.json.decode(body)["events"]))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str, events: list[dict[str, Any]]) -> int:
        self.posts += 1
        if path != "/api/v1/facts":
            return 404
        if self.statuses:
            return self.statuses.pop(0)
        if any(event["data"]["task_id"] in self.bad for event in events):
            return 422
        self.taken += events
        return 202

    @property
    def tasks(self) -> list[str]:
        return [event["data"]["task_id"] for event in self.taken]


@pytest.fixture
def facts() -> Iterator[Facts]:
    found = Facts()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def events(*tasks: str) -> list[SpooledEvent]:
    return [
        SpooledEvent(task, "u", "a", 0.0, msgspec.json.encode({"data": {"task_id": task}}), at)
        for at, task in enumerate(tasks)
    ]


async def test_only_what_is_refused_is_given_up(facts: Facts) -> None:
    facts.bad = {"b"}
    sink = ServerSink(facts.url, token="secret")
    refused = await sink.publish(events("a", "b", "c"))
    assert [event.id for event in refused] == ["b"]
    assert facts.tasks == ["a", "c"]
    assert facts.tokens == {"Bearer secret"}
    assert [event.id for event in await sink.publish(events("b"))] == ["b"]
    assert list(await sink.publish(events("d", "e"))) == []
    await sink.close()


@pytest.mark.parametrize("status", [401, 403, 404, 408, 429, 500, 502, 503])
async def test_anything_else_is_tried_again(status: int, facts: Facts) -> None:
    facts.statuses = [status]
    sink = ServerSink(facts.url)
    with pytest.raises(Unavailable, match=f"the server said {status}"):
        await sink.publish(events("a", "b"))
    assert list(await sink.publish(events("a", "b"))) == []
    assert facts.tasks == ["a", "b"]
    await sink.close()


async def test_a_server_that_is_away_is_tried_again() -> None:
    sink = ServerSink("http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="is away"):
        await sink.publish(events("a"))
    await sink.close()


async def test_pods_are_told_to_a_server_that_stumbles(
    facts: Facts, kube: KubeServer, tmp_path: Path
) -> None:
    facts.statuses = [503, 429]
    facts.bad = {"oom"}
    own = settings(kube, tmp_path / "spool.db", node="")
    async with collecting(own, ServerSink(facts.url)) as collector:
        await until(lambda: collector.observer.synced)
        for kind in FAILURES:
            play(kube, kind, kind.name)
        names = {kind.name for kind in FAILURES} - {"oom"}
        await until(lambda: names <= set(facts.tasks) and not collector.spool.pending)
        text = collector.metrics.text({}, {})
    assert set(facts.tasks) == names
    assert 'windlass_collector_failed_total{tenant="a"} 1' in text
