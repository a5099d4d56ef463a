"""A collector as a process among others: one of several works, and its pages say how it is."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import anyio
import httpx
import pytest

from tests.integration.collector.harness import Stream, collecting, redis_sink, settings, until
from windlass.collector.election import Election
from windlass.collector.spool import SpooledEvent
from windlass.kube.access import KubeAccess
from windlass.kube.api import KubeApi
from windlass.model.errors import Unavailable
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.kube.objects import Change
from windlass.testing.loopback import free_port
from windlass.testing.processes import Process, wait_until
from windlass.testing.servers import RedisServer

anyio_test = pytest.mark.anyio


def begin(kube: KubeServer, name: str, node: str = "n1") -> None:
    kube.pods.create("default", kinds.workload(name, name, node=node))
    kube.pods.patch_status("default", name, {"status": kinds.running(kinds.now())})


class Candidate:
    """An election with its work, which only notes that it is done."""

    def __init__(self, kube: KubeServer, name: str) -> None:
        self.api = KubeApi(KubeAccess(kube.url))
        quick = {"lease_s": 1.0, "renew_s": 0.6, "try_s": 0.1}
        self.election = Election(self.api, "default", "windlass-collector", name, **quick)
        self.works = False
        self.scope = anyio.CancelScope()

    async def run(self) -> None:
        with self.scope:
            await self.election.run(self._work)

    async def _work(self) -> None:
        self.works = True
        try:
            await anyio.sleep_forever()
        finally:
            self.works = False


@anyio_test
async def test_one_instance_works_and_another_takes_over(kube: KubeServer) -> None:
    first, second = Candidate(kube, "a"), Candidate(kube, "b")
    async with anyio.create_task_group() as group:
        group.start_soon(first.run)
        await until(lambda: first.works)
        group.start_soon(second.run)
        await anyio.sleep(1.5)
        assert (first.works, second.works) == (True, False)
        first.scope.cancel()
        await until(lambda: second.works)
        lease = kube.objects.get("leases", "default", "windlass-collector")
        assert lease["spec"]["holderIdentity"] == "b"
        assert lease["spec"]["leaseTransitions"] == 2
        group.cancel_scope.cancel()
    await first.api.close()
    await second.api.close()


@anyio_test
async def test_a_holder_that_cannot_renew_stops_before_another_begins(kube: KubeServer) -> None:
    first, second = Candidate(kube, "a"), Candidate(kube, "b")
    async with anyio.create_task_group() as group:
        group.start_soon(first.run)
        await until(lambda: first.works)
        kube.faults.refuse(500, times=10_000)
        await until(lambda: not first.works)
        group.start_soon(second.run)
        await anyio.sleep(0.5)
        assert not second.works
        kube.faults.clear()
        await until(lambda: first.works != second.works)
        group.cancel_scope.cancel()
    await first.api.close()
    await second.api.close()


@anyio_test
@pytest.mark.redis
async def test_a_full_spool_holds_the_watch_and_loses_nothing(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    class Blocked:
        """Redis, once it is let."""

        def __init__(self) -> None:
            self.sink = redis_sink(redis_server.url)
            self.is_away = True

        async def publish(self, events: Sequence[SpooledEvent]) -> Sequence[SpooledEvent]:
            if self.is_away:
                raise Unavailable("away")
            return await self.sink.publish(events)

        async def close(self) -> None:
            await self.sink.close()

    blocked, port = Blocked(), free_port()
    own = settings(kube, tmp_path / "spool.db", pending_max=5, metrics_port=port)
    async with collecting(own, blocked) as collector, httpx.AsyncClient() as http:
        for number in range(30):
            begin(kube, f"p{number}")
            await anyio.sleep(0.005)
        await until(collector.spool.is_full)
        page = await http.get(f"http://127.0.0.1:{port}/readyz")
        assert (page.status_code, page.text) == (503, "the spool is full: away\n")
        assert collector.spool.pending < 30
        blocked.is_away = False
        await until(lambda: len(stream.by_task()) == 30 and not collector.spool.pending)
        page = await http.get(f"http://127.0.0.1:{port}/readyz")
        assert page.status_code == 200
        page = await http.get(f"http://127.0.0.1:{port}/healthz")
        assert page.text == "ok\n"
        page = await http.get(f"http://127.0.0.1:{port}/metrics")
        assert 'windlass_collector_published_total{tenant="a"} 30' in page.text
        assert (await http.get(f"http://127.0.0.1:{port}/")).status_code == 404


@anyio_test
@pytest.mark.redis
async def test_a_resync_finds_what_the_watch_did_not_say(
    kube: KubeServer,
    redis_server: RedisServer,
    stream: Stream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(version: int, _kind: str, _namespace: str) -> tuple[int, list[Change]]:
        return version, []

    monkeypatch.setattr(kube.objects, "since", silent)
    own = settings(kube, tmp_path / "spool.db", watch={"resync_s": 1.0})
    async with collecting(own, redis_sink(redis_server.url)) as collector:
        await until(lambda: kube.watches)
        begin(kube, "quiet")
        await until(lambda: "quiet" in stream.by_task())
    assert collector.watch.lists >= 2


@anyio_test
@pytest.mark.redis
async def test_ten_pages_of_pods_are_listed(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    for number in range(1_100):
        begin(kube, f"p{number}")
    own = settings(kube, tmp_path / "spool.db")
    async with collecting(own, redis_sink(redis_server.url)):
        await until(lambda: len(stream.by_task()) == 1_100)


@pytest.mark.redis
def test_two_processes_without_a_node_publish_once(
    kube: KubeServer, redis_server: RedisServer, stream: Stream, tmp_path: Path
) -> None:
    def process(name: str) -> Process:
        spool = str(tmp_path / f"{name}.db")
        where = ["--redis", redis_server.url, "--kube-url", kube.url, "--spool", spool]
        return Process("collector", *where, log=tmp_path / name)

    first, second = process("first"), process("second")
    with contextlib.ExitStack() as stack:
        stack.enter_context(first)
        wait_until(lambda: "holds the lease" in (tmp_path / "first").read_text())
        stack.enter_context(second)
        begin(kube, "one")
        begin(kube, "unbound", node="")
        wait_until(lambda: len(stream.by_task()) == 2)
        assert first.stop() == 0
        begin(kube, "two")
        wait_until(lambda: "two" in stream.by_task())
        # The second one's spool is empty: it says again what is, under the ids it had.
        assert stream.by_task() == {name: ["RUNNING"] for name in ("one", "unbound", "two")}
