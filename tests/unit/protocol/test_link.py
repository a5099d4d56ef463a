"""Both ends of the link, spoken to by hand."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import (
    FRAME_BYTES_MAX,
    NAMES,
    Generation,
    Refused,
    decode,
    payload_of,
)
from windlass.protocol.link.server import (
    Arrived,
    Delivered,
    Garbled,
    Hello,
    Registered,
    ServerLink,
)
from windlass.protocol.link.tokens import TTL_S, make_token, read_token
from windlass.protocol.link.worker import Ordered, Ready, Turned, WorkerLink

Json = dict[str, Any]


def handshake(generation: Generation) -> m.Handshake:
    first = generation is Generation.FIRST
    return m.Handshake(
        protocol=1,
        auth=m.AuthField(mode="token", token="t"),
        worker=m.WorkerField(
            version="1",
            hostname="h",
            id="w" if first else None,
            worker_name=None if first else "w",
        ),
    )


def register() -> m.Register:
    concurrency = m.Concurrency(max_parallel=4)
    return m.Register(
        capabilities=m.Capabilities(concurrency=concurrency, runtimes=["python"]), packages=[]
    )


def pair(generation: Generation) -> tuple[WorkerLink, ServerLink]:
    """A worker and a server with a session between them."""
    worker = WorkerLink(generation, "default", handshake(generation), register)
    server = ServerLink("default")
    worker.connected(0)
    ready: list[Any] = []
    for _ in range(6):
        for frame in worker.take(0):
            for event in server.receive(frame, 0):
                if isinstance(event, Hello):
                    server.welcome(0, "instance")
                elif isinstance(event, Registered) and not event.again:
                    accept = m.Accept(
                        session_id="s", session_token="t", worker_instance_id="instance"
                    )
                    server.accept(accept, 0)
        for frame in server.take(0):
            ready += worker.receive(frame, 0)
    assert [type(event) for event in ready] == [Ready]
    return worker, server


def dispatch(task: str = "t@1") -> m.Dispatch:
    return m.Dispatch(
        run_id="r",
        task_id=task,
        node_id="n",
        node_type="demo.a",
        package_name="demo",
        package_version="1.0.0",
        parameters=msgspec.Raw(b'{"a":1}'),
        constraints=m.Constraints(),
    )


def result(task: str = "t@1") -> m.Result:
    return m.Result(run_id="r", task_id=task, status="SUCCEEDED", result=msgspec.Raw(b"{}"))


@pytest.mark.parametrize("generation", list(Generation))
def test_a_dispatch_is_acknowledged_and_its_result_only_once_it_is_settled(
    generation: Generation,
) -> None:
    worker, server = pair(generation)
    server.send(dispatch(), 1, id_="d-t@1", corr="t@1")
    (frame,) = server.take(1)
    (ordered,) = worker.receive(frame, 1)
    assert isinstance(ordered, Ordered)
    assert ordered.message == dispatch()
    delivered = [event for ack in worker.take(1) for event in server.receive(ack, 1)]
    assert delivered == [Delivered("d-t@1")]
    worker.send(result(), 2, corr="t@1", request=True)
    (arrived,) = [event for frame in worker.take(2) for event in server.receive(frame, 2)]
    assert isinstance(arrived, Arrived)
    early = [e for ack in server.take(2) for e in worker.receive(ack, 2)]
    assert early == []  # heard, but not yet durable
    server.settle(arrived, 3)
    late = [e for ack in server.take(3) for e in worker.receive(ack, 3)]
    assert [type(event).__name__ for event in late] == ["FrameSettled"]
    assert worker.channel.unacknowledged == 0


@pytest.mark.parametrize("generation", list(Generation))
def test_a_dispatch_nobody_acknowledges_is_sent_again_and_then_given_up_within_five_seconds(
    generation: Generation,
) -> None:
    _, server = pair(generation)
    server.send(dispatch(), 0, id_="d")
    sent = len(server.take(0))
    given_up: list[tuple[float, str]] = []
    for tick in range(1, 60):
        now = tick / 10
        given_up += [(now, id_) for id_ in server.channel.tick(now)]
        sent += len(server.take(now))
    assert [id_ for _, id_ in given_up] == ["d"]
    assert 4 < given_up[0][0] <= 5
    assert sent == 3 + (generation is Generation.SECOND)  # a numbered frame must still arrive


def test_a_result_is_proof_that_its_dispatch_arrived() -> None:
    _, server = pair(Generation.FIRST)
    server.send(dispatch(), 0, id_="d")
    server.take(0)
    server.channel.answered("d")
    assert server.channel.tick(10) == []
    assert server.take(10) == []


def said(worker: WorkerLink, type_: str, payload: Json, **more: Any) -> bytes:
    """A frame as some other worker would write it."""
    envelope = {
        "type": type_,
        "id": "by-hand",
        "ts": "",
        "tenant": "default",
        "sender": {"role": "worker", "id": "w"},
        "payload": payload,
        **more,
    }
    return json.dumps(envelope).encode()


def outcome(**more: Any) -> Json:
    return {"run_id": "r", "task_id": "t@1", "status": "SUCCEEDED", "result": {}, **more}


def test_artifacts_may_be_spelled_as_the_early_sample_spells_them() -> None:
    worker, server = pair(Generation.SECOND)
    artifact = {"resourceId": "res-1", "workerName": "w", "type": "page", "sizeBytes": 5}
    frame = said(worker, "biz.exec.result", outcome(artifacts=[artifact]), session_seq=1)
    (event,) = server.receive(frame, 0)
    assert isinstance(event, Arrived)
    assert isinstance(event.message, m.Result)
    assert event.message.artifacts is not None
    assert event.message.artifacts[0].resource_id == "res-1"
    assert event.message.artifacts[0].size_bytes == 5


def test_a_result_that_cannot_be_read_still_says_whose_it_is() -> None:
    worker, server = pair(Generation.SECOND)
    frame = said(worker, "biz.exec.result", outcome(status="GREAT"), session_seq=1)
    (event,) = server.receive(frame, 0)
    assert isinstance(event, Garbled)
    assert (event.run_id, event.task_id) == ("r", "t@1")
    frame = said(worker, "biz.exec.feedback", {"run_id": 7}, session_seq=2)
    assert server.receive(frame, 0) == []


def test_no_more_is_sent_at_once_than_the_other_end_takes() -> None:
    worker, server = pair(Generation.SECOND)
    server.receive(said(worker, "control.ack", {"recv_window": 1}), 0)
    for number in range(3):
        server.send(dispatch(f"t@{number}"), 0)
    assert len(server.take(0)) == 1
    server.receive(said(worker, "control.ack", {"ack_seq": 1, "recv_window": 8}), 0)
    assert len(server.take(0)) == 2


def test_a_handshake_that_is_sent_again_is_acknowledged_again() -> None:
    worker, server = pair(Generation.SECOND)
    payload = msgspec.to_builtins(handshake(Generation.SECOND))
    frame = said(worker, "control.handshake", payload, ack={"request": True})
    assert server.receive(frame, 0) == []
    (answer,) = server.take(0)
    assert json.loads(answer)["payload"]["ok"] is True


def test_a_resumed_session_gets_again_what_it_did_not_see_and_nothing_twice() -> None:
    worker, server = pair(Generation.SECOND)
    for number in range(3):
        server.send(dispatch(f"t{number}@1"), 1, id_=f"d{number}")
    frames = server.take(1)
    worker.receive(frames[0], 1)  # the rest is lost with the connection
    worker.disconnected()
    worker.connected(2)
    again = ServerLink("default")
    (asked,) = [e for frame in worker.take(2) for e in again.receive(frame, 2)]
    resume = asked.resume  # type: ignore[union-attr]
    assert resume.last_seen_seq == 1
    accept = m.Accept(
        session_id="s", session_token="t", worker_instance_id="instance", resumed=True
    )
    again.take_up(server.channel, resume, accept, server, 2)
    events = [e for frame in again.take(2) for e in worker.receive(frame, 2)]
    assert [e.message.task_id for e in events if isinstance(e, Ordered)] == ["t1@1", "t2@1"]  # type: ignore[union-attr]
    assert any(isinstance(e, Ready) and e.resumed for e in events)


def test_a_connection_that_was_taken_over_neither_takes_nor_loses_a_frame() -> None:
    worker, old = pair(Generation.SECOND)
    worker.send(result(), 1, corr="t@1")
    (late,) = worker.take(1)  # still in the old socket's buffer when the worker comes back
    worker.disconnected()
    worker.connected(2)
    new = ServerLink("default")
    (asked,) = [e for frame in worker.take(2) for e in new.receive(frame, 2)]
    accept = m.Accept(
        session_id="s", session_token="t", worker_instance_id="instance", resumed=True
    )
    new.take_up(old.channel, asked.resume, accept, old, 2)  # type: ignore[union-attr]
    assert old.take(2) == []
    assert old.receive(late, 2) == []
    said = [e for frame in new.take(2) for e in worker.receive(frame, 2)]
    assert [type(e) for e in said] == [Ready]
    heard = [e for frame in worker.take(2) for e in new.receive(frame, 2)]
    assert [e.message for e in heard if isinstance(e, Arrived)] == [result()]


def test_a_refused_connection_takes_no_frame_that_nobody_would_settle() -> None:
    worker, server = pair(Generation.SECOND)
    server.refuse(codes.SESSION_DENIED, "no heartbeat", 1)
    worker.send(result(), 1, corr="t@1")
    (frame,) = worker.take(1)
    assert server.receive(frame, 1) == []
    assert server.channel.inbound.delivered == 0


def test_a_reset_makes_the_worker_begin_anew() -> None:
    worker, server = pair(Generation.SECOND)
    worker.disconnected()
    worker.connected(1)
    other = ServerLink("default")
    for frame in worker.take(1):
        other.receive(frame, 1)
    other.refuse(codes.SESSION_UNKNOWN, "Unknown session", 1)
    events = [e for frame in other.take(1) for e in worker.receive(frame, 1)]
    assert isinstance(events[0], Turned)
    worker.connected(2)
    assert decode(worker.take(2)[0]).type == "control.handshake"
    assert server.worker == "w"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"x", "not an envelope"),
        (b"{}", "not an envelope"),
        (b"[" * 300, "nested"),
        (b" " * (FRAME_BYTES_MAX + 1), "too large"),
    ],
)
def test_a_frame_without_an_envelope_is_fatal(frame: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refusal:
        ServerLink("default").receive(frame, 0)
    assert refusal.value.fatal


def test_the_registration_the_first_schema_demands_is_taken() -> None:
    payload = b'{"capabilities":{"concurrency":{"max_parallel":1},"runtimes":["python"],'
    payload += b'"features":[]},"packages":[],"queues":["default"]}'
    worker, _ = pair(Generation.FIRST)
    worker.send(register(), 0)
    envelope = msgspec.structs.replace(
        decode(worker.take(0)[0]), payload=msgspec.Raw(payload), type="register"
    )
    assert payload_of(envelope).queues == ["default"]  # type: ignore[attr-defined]


def test_every_message_has_a_name_in_one_generation_at_least() -> None:
    names = [name for pair in NAMES.values() for name in (pair.first, pair.second) if name]
    assert len(names) == len(set(names))
    assert all(pair.first or pair.second for pair in NAMES.values())


def test_a_session_token_is_ours_or_refused() -> None:
    token = make_token(b"k", "s", "i", "default", 100.0)
    assert read_token(b"k", token, 100.0).sid == "s"
    for bad in ("", "a.b", token + "x", make_token(b"other", "s", "i", "default", 100.0)):
        with pytest.raises(Refused):
            read_token(b"k", bad, 100.0)
    with pytest.raises(Refused, match="expired"):
        read_token(b"k", token, 101.0 + TTL_S)


@pytest.mark.parametrize("generation", list(Generation))
def test_what_both_ends_say_is_what_the_published_schemas_allow(generation: Generation) -> None:
    worker, server = pair(generation)
    said: list[bytes] = []
    worker.connected(0)
    said += worker.take(0)
    server.send(dispatch(), 1, id_="d", corr="t@1")
    server.send(m.PkgInstall(name="demo", version="1.0.0", url="http://x", sha256="0"), 1)
    said += server.take(1)
    worker.channel = pair(generation)[0].channel
    worker.send(result(), 2, corr="t@1", request=True)
    worker.beat(m.Heartbeat(healthy=True, metrics={"inflight": 0}), 2)
    said += worker.take(2)
    assert len(said) >= 5
    folder = Path(__file__).parents[3] / "schemas" / "link" / str(int(generation))
    for frame in said:
        found = msgspec.json.decode(frame)
        schema = json.loads((folder / f"{found['type']}.json").read_text())
        jsonschema_rs.validate(schema, found)


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '"\\ud800"', '"a\\udfffb"'])
def test_a_result_that_only_python_can_read_is_refused_alone(value: str) -> None:
    """Python's own JSON writes these; a link that is closed for one would be closed for ever."""
    _, server = pair(Generation.SECOND)
    sender = {"role": "worker", "id": server.instance}
    payload = f'{{"run_id":"r","task_id":"t@1","status":"SUCCEEDED","result":{{"a":{value}}}}}'
    head = {"type": "biz.exec.result", "id": "f", "ts": "", "tenant": "default", "sender": sender}
    text = msgspec.json.encode({**head, "session_seq": 1}).decode()
    [event] = server.receive(f'{text[:-1]},"payload":{payload}}}', 1)
    assert isinstance(event, Garbled)
    assert (event.run_id, event.task_id) == ("r", "t@1")
