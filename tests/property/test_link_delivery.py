"""Whatever a network does to frames, each arrives once, in order, and its effect is known."""

import contextlib
import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.protocol.test_link import dispatch, pair, result
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, Refused
from windlass.protocol.link.server import Arrived, ServerLink
from windlass.protocol.link.worker import FrameSettled, Ordered, WorkerLink

STEP_S = 0.25


class Line:
    """A connection that loses, repeats and delays what it carries."""

    def __init__(self, seed: int, harm: float) -> None:
        self.random = random.Random(seed)
        self.harm = harm
        self.flying: list[tuple[float, bytes]] = []

    def carry(self, frames: list[bytes], now: float) -> None:
        for frame in frames:
            dice = self.random.random()
            if dice < self.harm:
                continue
            self.flying.append((now + self.random.random() * self.harm * 3, frame))
            if dice > 1 - self.harm:
                self.flying.append((now + self.random.random(), frame))

    def arrive(self, now: float) -> list[bytes]:
        here = [frame for at, frame in self.flying if at <= now]
        self.flying = [(at, frame) for at, frame in self.flying if at > now]
        self.random.shuffle(here)
        return here


def cut_and_resume(worker: WorkerLink, server: ServerLink, now: float) -> ServerLink:
    """A new connection that goes on with the session."""
    worker.disconnected()
    worker.connected(now)
    fresh = ServerLink("default")
    (asked,) = [e for frame in worker.take(now) for e in fresh.receive(frame, now)]
    accept = m.Accept(
        session_id="s", session_token="t", worker_instance_id="instance", resumed=True
    )
    fresh.take_up(server.channel, asked.resume, accept, server, now)  # type: ignore[union-attr]
    for frame in fresh.take(now):
        if b"session.accept" in frame:
            worker.receive(frame, now)
    return fresh


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    harm=st.sampled_from([0.0, 0.1, 0.3]),
    cuts=st.sets(st.integers(1, 200), max_size=4),
    count=st.integers(1, 150),
)
def test_every_dispatch_and_every_result_arrives_once_and_in_order(
    seed: int, harm: float, cuts: set[int], count: int
) -> None:
    worker, server = pair(Generation.SECOND)
    down, up = Line(seed, harm), Line(seed + 1, harm)
    names = [f"t{number}@1" for number in range(count)]
    for name in names:
        server.send(dispatch(name), 0, id_=f"d-{name}")
    got: list[str] = []
    accepted: list[str] = []
    settled: set[str] = set()
    waiting: dict[str, str] = {}
    step = 0
    while len(settled) < count:
        step += 1
        assert step < 4_000, "it does not end"
        now = step * STEP_S
        if step in cuts:
            server = cut_and_resume(worker, server, now)
            down.flying.clear()
            up.flying.clear()
        down.carry(server.take(now), now)
        for frame in down.arrive(now):
            for event in worker.receive(frame, now):
                handle(event, worker, now, got, waiting, settled)
        up.carry(worker.take(now), now)
        for frame in up.arrive(now):
            for arrived in server.receive(frame, now):
                if isinstance(arrived, Arrived):
                    assert isinstance(arrived.message, m.Result)
                    accepted.append(arrived.message.task_id)
                    server.settle(arrived, now)
        server.channel.tick(now)
        worker.channel.tick(now)
    assert got == names
    assert accepted == names
    assert settled == set(names)


def handle(
    event: Any,
    worker: WorkerLink,
    now: float,
    got: list[str],
    waiting: dict[str, str],
    settled: set[str],
) -> None:
    if isinstance(event, Ordered) and isinstance(event.message, m.Dispatch):
        task = event.message.task_id
        got.append(task)
        waiting[worker.send(result(task), now, corr=task)] = task
    elif isinstance(event, FrameSettled):
        settled.add(waiting[event.id])


@settings(max_examples=200)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_bytes_whatever_do_more_than_end_the_connection(frame: bytes) -> None:
    _, server = pair(Generation.SECOND)
    with contextlib.suppress(Refused):
        assert server.receive(frame, 0) == []


@settings(max_examples=200)
@given(
    type_=st.sampled_from(["biz.exec.result", "control.register", "biz.pkg.event", "nonsense"]),
    payload=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=10,
    ),
)
def test_a_payload_that_does_not_fit_changes_nothing(type_: str, payload: object) -> None:
    _, server = pair(Generation.SECOND)
    envelope = {
        "type": type_,
        "id": "x",
        "ts": "2026-01-01T00:00:00Z",
        "tenant": "default",
        "sender": {"role": "worker", "id": "instance"},
        "ack": {"request": True},
        "payload": payload,
    }
    assert server.receive(msgspec.json.encode(envelope), 0) == []
    answer = msgspec.json.decode(server.take(0)[-1])
    assert answer["payload"]["ok"] is False
