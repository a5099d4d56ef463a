"""Good frames of both generations of the link, to be spoilt, and a socket to say them on."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import websockets

from tests.hostile_values import spoilt
from tests.integration.link.independent import FirstGeneration, Independent, SecondGeneration

Json = dict[str, Any]

MANIFEST: Json = {
    "name": "evil",
    "version": "1.0.0",
    "schemaVersion": "2025-10",
    "adapters": [{"id": "main", "capabilities": ["a"]}],
    "nodes": [{"type": "evil.a", "label": "A", "schema": {"parameters": {"type": "object"}}}],
}
REGISTER: Json = {
    "capabilities": {
        "concurrency": {"max_parallel": 4, "per_node_limits": {"evil.a": 2}},
        "runtimes": ["python"],
        "features": ["x"],
    },
    "packages": [{"name": "evil", "version": "1.0.0", "status": "installed"}],
    "payload_types": ["x"],
    "channels": ["c"],
    "manifests": [{"name": "evil", "version": "1.0.0", "manifest": MANIFEST}],
}
_TASK: Json = {"run_id": "none", "task_id": "none~a.1"}
LATER: dict[str, Json] = {
    "heartbeat": {"healthy": True, "metrics": {"inflight": 0, "cpu_pct": 1.0, "held": ["x"]}},
    "result": {
        **_TASK,
        "status": "SUCCEEDED",
        "result": {"echo": 1},
        "duration_ms": 1,
        "metadata": {"a": 1},
        "artifacts": [{"resource_id": "r", "type": "t", "size_bytes": 1, "metadata": {"a": 1}}],
        "error": {"code": "E", "message": "m", "details": {"a": 1}},
    },
    "error": {"code": "E", "message": "m", "context": {"where": "w", "details": _TASK}},
    "feedback": {
        **_TASK,
        "stage": "s",
        "progress": 0.5,
        "message": "m",
        "metrics": {"a": 1.0},
        "chunks": [{"channel": "log", "index": 0, "text": "t", "metadata": {"a": 1}}],
    },
    "next": {
        "requestId": "r",
        "runId": "none",
        "nodeId": "n",
        "middlewareId": "m",
        "chainIndex": 0,
        "payload": {"a": 1},
        "timeoutMs": 5,
    },
    "package": {"name": "evil", "version": "1.0.0", "status": "installed", "details": {"a": 1}},
    "catalog": {
        "packages": [
            {"name": "evil", "version": "1.0.0", "status": "installed", "manifest": MANIFEST}
        ]
    },
    "ack": {"ok": True, "for": "x", "ack_seq": 0, "ack_bitmap": 0, "recv_window": 64},
    "register": REGISTER,
    "resume": {"session_id": "s", "session_token": "t", "last_seen_seq": 0},
}
"""What a worker can say once it is known."""

_TYPES: dict[str, tuple[str, str]] = {
    "handshake": ("handshake", "control.handshake"),
    "register": ("register", "control.register"),
    "heartbeat": ("heartbeat", "control.heartbeat"),
    "result": ("result", "biz.exec.result"),
    "error": ("command.error", "biz.exec.error"),
    "feedback": ("feedback", "biz.exec.feedback"),
    "next": ("", "biz.exec.next.request"),
    "package": ("pkg.event", "biz.pkg.event"),
    "catalog": ("", "biz.pkg.catalog"),
    "ack": ("ack", "control.ack"),
    "resume": ("control.resume", "control.resume"),
}


def type_of(worker: Independent, name: str) -> str:
    return _TYPES[name][isinstance(worker, SecondGeneration)]


def hello(worker: Independent) -> Json:
    who: Json = {"version": "1", "hostname": "h"}
    if isinstance(worker, FirstGeneration):
        who["id"] = worker.name
    else:
        # Its own name for the process, so that it is known which sender its frames name.
        who |= {"worker_name": worker.name, "worker_instance_id": worker.name}
    payload = {"protocol": 1, "auth": {"mode": "token", "token": worker.token}, "worker": who}
    return worker.envelope(type_of(worker, "handshake"), payload, ack={"request": True})


def registering(worker: Independent) -> Json:
    return worker.envelope(type_of(worker, "register"), REGISTER, ack={"request": True})


def openings(worker: Independent, seed: int, each: int) -> Iterator[list[bytes]]:
    """First words of a connection, the last of which is spoilt."""
    good = [json.dumps(hello(worker)).encode(), json.dumps(registering(worker)).encode()]
    for number, frame in enumerate((hello(worker), registering(worker))):
        for _, raw in spoilt(frame, seed + number, each):
            yield [*good[:number], raw]


async def resumptions(worker: Independent, seed: int, each: int) -> list[list[bytes]]:
    """Words that take up a session again, spoilt; there is one, if the generation has any."""
    payload = dict(LATER["resume"])
    async with websockets.connect(worker.url) as socket:
        for frame in (hello(worker), registering(worker)):
            await socket.send(json.dumps(frame))
        while isinstance(worker, SecondGeneration):
            heard = json.loads(await asyncio.wait_for(socket.recv(), 5))
            if heard["type"] == "control.session.accept":
                told = heard["payload"]
                payload |= {name: told[name] for name in ("session_id", "session_token")}
                break
    frame = worker.envelope(type_of(worker, "resume"), payload, ack={"request": True})
    return [[raw] for _, raw in spoilt(frame, seed, each)]


def later(worker: Independent, name: str, seed: int, each: int) -> Iterator[bytes]:
    """One kind of frame, spoilt, for a connection that stands."""
    numbered = {"session_seq": 1} if isinstance(worker, SecondGeneration) else {}
    more = {"corr": "c", "ack": {"request": True}, **(numbered if name == "result" else {})}
    frame = worker.envelope(type_of(worker, name), LATER[name], **more)
    for _, raw in spoilt(frame, seed, each):
        yield raw


async def say(worker: Independent, frames: list[bytes]) -> None:
    """Say some frames and listen until the other side closes or has nothing to say."""
    async with websockets.connect(worker.url) as socket:
        try:
            for frame in frames:
                await socket.send(frame, text=True)
            async with asyncio.timeout(0.05):
                while True:
                    await socket.recv()
        except (websockets.ConnectionClosed, TimeoutError):
            return


async def say_later(worker: Independent, frames: Iterator[bytes]) -> None:
    """Say frames as a worker that is known, connecting again whenever one was too much."""
    left = list(frames)
    while left:
        async with websockets.connect(worker.url) as socket:
            try:
                await socket.send(json.dumps(hello(worker)))
                await socket.send(json.dumps(registering(worker)))
                for _ in range(2):
                    await asyncio.wait_for(socket.recv(), 5)
                while left:
                    await socket.send(left.pop(), text=True)
                    await asyncio.sleep(0.002)
            except websockets.ConnectionClosed:
                continue
