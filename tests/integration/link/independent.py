"""Workers that share no code with ours: they follow the published wire, frame by frame.

`FirstGeneration` speaks handshake/register/cmd.dispatch, `SecondGeneration` control.*/biz.* with
windows and resume. Both can be told to lose, delay and repeat acknowledgements.
"""

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import websockets

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[Json]]


async def echo(dispatch: Json) -> Json:
    return {"echo": dispatch["parameters"]}


class Faults:
    """What happens to the acknowledgements a worker sends."""

    def __init__(self, seed: int, drop: float = 0, delay: float = 0, double: float = 0) -> None:
        self.random = random.Random(seed)
        self.drop, self.delay, self.double = drop, delay, double

    def fate(self) -> str:
        dice = self.random.random()
        for name, share in (("drop", self.drop), ("delay", self.delay), ("double", self.double)):
            if dice < share:
                return name
            dice -= share
        return "send"


class Independent:
    """What both generations have in common."""

    prefix: dict[str, str]

    def __init__(
        self,
        url: str,
        name: str,
        packages: list[tuple[str, str]],
        *,
        token: str = "",
        handler: Handler = echo,
        max_parallel: int = 16,
        per_node: dict[str, int] | None = None,
        faults: Faults | None = None,
        tenant: str = "default",
    ) -> None:
        self.url = url.replace("http", "ws", 1) + "/ws/worker"
        self.name = name
        self.packages = packages
        self.token = token
        self.handler = handler
        self.max_parallel = max_parallel
        self.per_node = per_node
        self.faults = faults or Faults(0)
        self.tenant = tenant
        self.counter = itertools.count()
        self.executed: Counter[str] = Counter()
        self.most_at_once = 0
        self.most_by_type: Counter[str] = Counter()
        self._now_by_type: Counter[str] = Counter()
        self.ready = asyncio.Event()
        self.socket: Any = None
        self.background: set[asyncio.Task[Any]] = set()
        self.acks: dict[str, asyncio.Event] = {}
        self.sender = name
        self.running = 0

    def envelope(self, type_: str, payload: Json, **extra: Any) -> Json:
        return {
            "type": type_,
            "id": f"{type_}-{next(self.counter)}",
            "ts": datetime.now(UTC).isoformat(),
            "tenant": self.tenant,
            "sender": {"role": "worker", "id": self.sender},
            "payload": payload,
            **extra,
        }

    async def send(self, frame: Json) -> None:
        if self.socket is not None:
            try:
                await self.socket.send(json.dumps(frame))
            except websockets.ConnectionClosed:
                return

    def spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    def capabilities(self) -> Json:
        concurrency: Json = {"max_parallel": self.max_parallel}
        if self.per_node:
            concurrency["per_node_limits"] = self.per_node
        return {"concurrency": concurrency, "runtimes": ["python"], "features": []}

    def inventory(self) -> list[Json]:
        return [{"name": n, "version": v, "status": "installed"} for n, v in self.packages]

    async def work(self, dispatch: Json) -> Json:
        """Execute one dispatch and count it."""
        self.executed[dispatch["task_id"]] += 1
        self.running += 1
        kind = dispatch["node_type"]
        self._now_by_type[kind] += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.most_by_type[kind] = max(self.most_by_type[kind], self._now_by_type[kind])
        try:
            result = await self.handler(dispatch)
        finally:
            self.running -= 1
            self._now_by_type[kind] -= 1
        return {
            "run_id": dispatch["run_id"],
            "task_id": dispatch["task_id"],
            "status": "SUCCEEDED",
            "result": result,
            "duration_ms": 1,
        }

    async def send_ack(self, frame: Json) -> None:
        match self.faults.fate():
            case "drop":
                return
            case "delay":
                await asyncio.sleep(self.faults.random.uniform(0, 0.3))
                await self.send(frame)
            case "double":
                await self.send(frame)
                await self.send(frame)
            case _:
                await self.send(frame)

    async def heartbeat(self, type_: str) -> None:
        payload = {"healthy": True, "metrics": {"inflight": self.running, "cpu_pct": 1.0}}
        await self.send(self.envelope(type_, payload))

    async def close(self) -> None:
        for task in list(self.background):
            task.cancel()
        if self.socket is not None:
            await self.socket.close()

    def cut(self) -> None:
        """Drop the TCP connection without a word."""
        self.socket.transport.abort()


class FirstGeneration(Independent):
    """handshake, register, heartbeat, cmd.dispatch, result."""

    async def run(self) -> None:
        async with websockets.connect(self.url) as self.socket:
            await self.open()
            async for text in self.socket:
                await self.receive(json.loads(text))

    async def open(self) -> None:
        request = {"ack": {"request": True}}
        hello = {
            "protocol": 1,
            "auth": {"mode": "token", "token": self.token or "any"},
            "worker": {"id": self.name, "version": "0.1.0", "hostname": "independent"},
        }
        await self.send(self.envelope("handshake", hello, **request))
        register = {"capabilities": self.capabilities(), "packages": self.inventory()}
        await self.send(self.envelope("register", register, **request))
        await self.heartbeat("heartbeat")

    async def receive(self, frame: Json) -> None:
        match frame["type"]:
            case "ack":
                for_ = (frame.get("ack") or {}).get("for")
                if for_ in self.acks:
                    self.acks[for_].set()
                if for_ and for_.startswith("register"):
                    self.ready.set()
            case "cmd.dispatch":
                self.spawn(self.dispatched(frame))

    async def dispatched(self, frame: Json) -> None:
        # As the first generation does: `for` inside and out, and no `ok`.
        ack = self.envelope("ack", {"for": frame["id"]}, ack={"for": frame["id"]})
        self.spawn(self.send_ack(ack))
        dispatch = frame["payload"]
        if self.executed[dispatch["task_id"]]:
            return  # a dispatch that came again is acknowledged, not run again
        payload = await self.work(dispatch)
        await self.deliver(
            self.envelope("result", payload, corr=frame["id"], ack={"request": True})
        )

    async def deliver(self, frame: Json) -> None:
        """Send until acknowledged: 200 ms, doubling, six times."""
        acked = self.acks[frame["id"]] = asyncio.Event()
        pause = 0.2
        for _ in range(6):
            await self.send(frame)
            try:
                await asyncio.wait_for(acked.wait(), pause)
                return
            except TimeoutError:
                pause = min(pause * 2, 5)


class SecondGeneration(Independent):
    """control.* and biz.*, with session_seq, windows and resume by token."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.session: Json | None = None
        self.next_seq = 1
        self.received = 0
        self.early: dict[int, Json] = {}
        self.unacked: dict[int, Json] = {}
        self.resumed = 0
        self.accepts = 0

    async def run(self) -> None:
        """Connect, and again whenever the connection breaks."""
        while True:
            try:
                async with websockets.connect(self.url) as self.socket:
                    await self.open()
                    async for text in self.socket:
                        await self.receive(json.loads(text))
            except (OSError, websockets.WebSocketException):
                pass
            self.ready.clear()
            await asyncio.sleep(0.05)

    async def open(self) -> None:
        if self.session is not None:
            resume = {
                "session_id": self.session["session_id"],
                "session_token": self.session["session_token"],
                "last_seen_seq": self.received,
            }
            await self.send(self.envelope("control.resume", resume))
            return
        worker = {"worker_name": self.name, "version": "0.1.0", "hostname": "independent"}
        if self.sender != self.name:
            worker["worker_instance_id"] = self.sender  # still the process it was issued to
        hello = {
            "protocol": 1,
            "auth": {"mode": "token", "token": self.token or "any"},
            "worker": worker,
        }
        await self.send(self.envelope("control.handshake", hello, ack={"request": True}))
        register = {"capabilities": self.capabilities(), "packages": self.inventory()}
        await self.send(self.envelope("control.register", register, ack={"request": True}))

    async def receive(self, frame: Json) -> None:
        payload = frame["payload"]
        seq = frame.get("session_seq")
        if seq is not None:
            await self.numbered(frame, seq)
            return
        match frame["type"]:
            case "control.session.accept":
                self.accepts += 1
                await self.accepted(payload)
            case "control.reset":
                self.session = None
            case "control.ack":
                self.acknowledge(payload)

    async def accepted(self, payload: Json) -> None:
        self.session = payload
        self.sender = payload["worker_instance_id"]
        if payload.get("resumed"):
            self.resumed += 1
            for frame in list(self.unacked.values()):
                await self.send(frame)
        else:
            self.next_seq, self.received = 1, 0
            self.early.clear()
            lost, self.unacked = list(self.unacked.values()), {}
            for frame in lost:
                await self.report(frame["payload"], frame["corr"])
        await self.heartbeat("control.heartbeat")
        self.ready.set()

    def acknowledge(self, payload: Json) -> None:
        base = payload.get("ack_seq") or 0
        bitmap = payload.get("ack_bitmap") or 0
        for seq in list(self.unacked):
            if seq <= base or bitmap >> (seq - base - 1) & 1:
                del self.unacked[seq]

    async def numbered(self, frame: Json, seq: int) -> None:
        fresh = seq > self.received and seq not in self.early
        if fresh:
            self.early[seq] = frame
        while self.received + 1 in self.early:
            self.received += 1
            ready = self.early.pop(self.received)
            if ready["type"] == "biz.exec.dispatch":
                self.spawn(self.dispatched(ready))
        ack = {"ok": True, "for": frame["id"], "ack_seq": self.received, "recv_window": 64}
        self.spawn(self.send_ack(self.envelope("control.ack", ack, ack={"for": frame["id"]})))

    async def dispatched(self, frame: Json) -> None:
        dispatch = frame["payload"]
        if self.executed[dispatch["task_id"]]:
            return
        await self.report(await self.work(dispatch), frame["id"])

    async def report(self, payload: Json, corr: str) -> None:
        frame = self.envelope(
            "biz.exec.result",
            payload,
            corr=corr,
            ack={"request": True},
            session_seq=self.next_seq,
        )
        self.unacked[self.next_seq] = frame
        self.next_seq += 1
        await self.send(frame)
        self.spawn(self.again(frame))

    async def again(self, frame: Json) -> None:
        pause = 0.2
        for _ in range(6):
            await asyncio.sleep(pause)
            if frame["session_seq"] not in self.unacked:
                return
            await self.send(frame)
            pause = min(pause * 2, 5)
