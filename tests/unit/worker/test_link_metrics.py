"""What a link worker counts, and the page it is read from."""

import httpx
import pytest

from tests.unit.protocol.test_link import dispatch
from tests.unit.worker.test_link_tasks import Echo, unasked
from windlass.model.errors import Unavailable
from windlass.protocol.link import messages as m
from windlass.testing.loopback import free_port
from windlass.worker.link.counts import Counts
from windlass.worker.link.metrics import metrics_served
from windlass.worker.link.serve import Inventory
from windlass.worker.link.settings import LinkSettings
from windlass.worker.link.tasks import Tasks

pytestmark = pytest.mark.anyio


async def test_tasks_are_counted_by_their_type_and_how_long_they_took() -> None:
    times = iter([10.0, 10.07])
    tasks = Tasks([Echo()], 4, {}, lambda _: None, lambda *_: None, lambda: next(times))
    tasks.dispatched(dispatch(), lambda _: lambda _: None, lambda _: unasked)
    assert "inflight_tasks 1" in tasks.counts.text(len(tasks.running))
    await tasks.drain()
    lines = tasks.counts.text(len(tasks.running)).splitlines()
    assert 'task_duration_ms_bucket{node_type="demo.a",le="50"} 0' in lines
    assert 'task_duration_ms_bucket{node_type="demo.a",le="100"} 1' in lines
    assert 'task_duration_ms_count{node_type="demo.a"} 1' in lines


def test_heartbeats_are_counted_and_so_are_those_of_a_worker_that_wants_no_work() -> None:
    counts = Counts()
    counts.heartbeat(healthy=True)
    counts.heartbeat(healthy=False)
    lines = counts.text(0).splitlines()
    assert "heartbeat_sent_total 2" in lines
    assert "heartbeat_degraded_total 1" in lines


async def test_metrics_are_read_on_loopback_and_nothing_else_is() -> None:
    port = free_port()
    async with (
        metrics_served(port, lambda: "a 1\n"),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
    ):
        found = await http.get("/metrics")
        assert (found.status_code, found.text) == (200, "a 1\n")
        assert (await http.get("/")).status_code == 404
        with pytest.raises(Unavailable, match=str(port)):
            async with metrics_served(port, str):
                pass


def test_packages_have_drifted_until_they_are_registered_again() -> None:
    class Changing(Echo):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[m.PackageField] = []

        def packages(self) -> list[m.PackageField]:
            return list(self.found)

    echo = Changing()
    inventory = Inventory(LinkSettings(url="", worker_id="w"), [echo])
    inventory.register()
    assert not inventory.drifted()
    echo.found = [m.PackageField(name="kit", version="1.0.0", status="missing")]
    assert inventory.drifted()
    inventory.register()
    assert not inventory.drifted()
