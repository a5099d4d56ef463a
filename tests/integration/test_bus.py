"""Events of runs on a real NATS and a real Redis: none is lost when the server is killed."""

import asyncio
import signal
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx
import msgspec
import pytest

from windlass.drivers.bus.nats import NatsBus
from windlass.drivers.bus.redis import RedisBus
from windlass.ports.bus import Message
from windlass.protocol.run_events import RunEvent
from windlass.testing.processes import ServerProcess
from windlass.testing.servers import NatsServer, RedisServer

pytestmark = pytest.mark.anyio

TIMER = {"kind": "timer", "params": {"delay_ms": 50}}
FLOW = {"start": "a", "nodes": {"a": TIMER, "b": TIMER}, "edges": [{"from": "a", "to": "b"}]}
RUNS = 40


class Heard:
    """Which events of which runs were heard of."""

    def __init__(self) -> None:
        self.seqs: defaultdict[str, list[int]] = defaultdict(list)

    async def listen(self, messages: AsyncIterator[Message], wanted: Mapping[str, int]) -> None:
        """Until every run is heard of up to its last event."""
        async for message in messages:
            event = msgspec.json.decode(message.body, type=RunEvent)
            self.seqs[event.run_id].append(event.seq)
            known = {id_: {*range(1, last + 1)} for id_, last in wanted.items()}
            if known and all(seqs <= {*self.seqs[id_]} for id_, seqs in known.items()):
                return


async def begin(http: httpx.AsyncClient) -> str:
    answer = await http.post("/api/v1/runs", json={"flow": "f"})
    return str(answer.raise_for_status().json()["id"])


@pytest.mark.parametrize("kind", ["nats", "redis"])
async def test_a_killed_server_loses_no_event(
    kind: str, nats_server: NatsServer, redis_server: RedisServer, tmp_path: Path
) -> None:
    url = nats_server.url if kind == "nats" else redis_server.url
    bus = NatsBus([url], "killed") if kind == "nats" else RedisBus([url], "killed")
    options = ("--no-auth", "--bus", url, "--bus-prefix", "killed")
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", *options)
    heard, wanted = Heard(), dict[str, int]()
    async with (
        bus.subscribe("killed.run.event") as messages,
        httpx.AsyncClient(base_url=server.url, timeout=30) as http,
    ):
        listening = asyncio.ensure_future(heard.listen(messages, wanted))
        with server:
            pushed = await http.post("/api/v1/flows/f/versions", json={"definition": FLOW})
            assert pushed.status_code == 201, pushed.text
            ids = await asyncio.gather(*(begin(http) for _ in range(RUNS)))
            server.signal(signal.SIGKILL)
            server.wait()
            server.start()
            last: dict[str, int] = {}
            for run_id in ids:
                ended = await http.get(f"/api/v1/runs/{run_id}", params={"waitMs": 20_000})
                assert ended.json()["state"] == "succeeded"
                page = (await http.get(f"/api/v1/runs/{run_id}/events")).json()["items"]
                last[run_id] = page[-1]["seq"]
            wanted.update(last)
            await begin(http)  # so that something more is heard
            async with asyncio.timeout(40):
                await listening
    await bus.close()
    assert all(len(seqs) == len(set(seqs)) for seqs in heard.seqs.values()), "an id counts once"


def test_a_bus_nobody_knows_is_named(tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", "--no-auth", "--bus", "kafka://x")
    with pytest.raises(RuntimeError, match="ended with"):
        server.start()
