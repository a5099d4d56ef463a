"""What comes back on the link: told twice, unreadable, too large, or while the database is away."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from tests.unit.server.link_bench import (
    Bench,
    arrived,
    assignment,
    failures,
    link_bench,
    reported,
    result,
    settlements,
)
from windlass.engine.loops.outbox import NotHere
from windlass.model.effects import RELEASE, Effect, worker_address
from windlass.model.errors import BadRequest, Unavailable
from windlass.model.rows import LogChunk
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.channel import Heard
from windlass.protocol.link.envelope import AckRequest, Envelope, Sender
from windlass.protocol.link.server import Arrived, Garbled
from windlass.server.link import feedback as feedback_module
from windlass.server.link.dispatching import Dispatching
from windlass.server.link.held import Held
from windlass.server.link.session import LinkSession

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with link_bench() as made:
        yield made


async def test_a_result_we_fail_on_is_still_answered(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    told = settlements(session, monkeypatch)

    async def broken(*_: Any, **__: Any) -> str:
        raise AssertionError("ours")

    monkeypatch.setattr(bench.plane.attempts, "succeeded", broken)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    session.arrived(arrived(result()))
    await reported(session)
    assert told == [codes.INTERNAL]


async def test_a_result_told_twice_is_answered_once_it_is_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    told, committed = settlements(session, monkeypatch), asyncio.Event()

    async def slow(*_: Any, **__: Any) -> str:
        await committed.wait()
        return "accepted"

    monkeypatch.setattr(bench.plane.attempts, "succeeded", slow)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    session.arrived(arrived(result()))
    session.arrived(arrived(result()))
    await asyncio.sleep(0.01)
    assert told == []
    committed.set()
    await reported(session)
    assert told == ["", codes.RESULT_DUPLICATE]
    session.arrived(arrived(result()))
    assert told == ["", codes.RESULT_DUPLICATE, codes.RESULT_DUPLICATE]


async def test_a_result_that_cannot_be_read_fails_its_task_for_good(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    told, failed = settlements(session, monkeypatch), failures(bench, monkeypatch)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    session.garbled(Garbled(arrived(None).heard, "other", "a@1", "nonsense"))
    assert list(session.held) == ["a@1"]
    session.garbled(Garbled(arrived(None).heard, "r", "a@1", "nonsense"))
    await reported(session)
    assert [(failure.kind, failure.message) for failure in failed] == [
        ("fatal", "its result cannot be read: nonsense")
    ]
    assert told == [codes.INVALID, codes.INVALID]


async def test_a_result_that_cannot_be_kept_fails_its_task_for_good(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    told, failed = settlements(session, monkeypatch), failures(bench, monkeypatch)

    async def refused(*_: Any, **__: Any) -> str:
        raise BadRequest("no such number")

    monkeypatch.setattr(bench.plane.attempts, "succeeded", refused)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    session.arrived(arrived(result()))
    await reported(session)
    assert [failure.kind for failure in failed] == ["fatal"]
    assert told == [codes.INVALID]


async def test_an_error_about_another_run_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    told = settlements(session, monkeypatch)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    context = m.ErrorContext(details={"task_id": "a@1", "run_id": "other"})
    session.arrived(arrived(m.CommandError(code="E.X", message="no", context=context)))
    assert (list(session.held), told) == (["a@1"], [codes.RESULT_STALE])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ('{"a":' * 198 + "1" + "}" * 198, "nested too deep"),
        (f'{{"a":"{"x" * 1024 * 1024}"}}', "cannot fetch them"),
    ],
    ids=["deep", "large"],
)
async def test_what_no_frame_can_carry_fails_instead_of_breaking_one_link_after_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, given: str, reason: str
) -> None:
    session = await bench.session()
    failed = failures(bench, monkeypatch)
    Dispatching(session).begin(assignment(input=given))
    await reported(session)
    assert [failure.kind for failure in failed] == ["fatal"]
    assert reason in failed[0].message
    assert session.link.take(0) == []


async def test_a_release_counts_once_it_has_arrived(bench: Bench) -> None:
    session = await bench.session()
    session.link.features = frozenset({"resource.release"})
    address = worker_address(session.worker_id)
    effect = Effect(id="e", kind=RELEASE, address=address, run_id="r", due_at=0, created_at=0)
    session.disconnected()
    with pytest.raises(NotHere):
        await bench.plane.release(effect)
    written = asyncio.Event()
    session.wake = written.set
    released = asyncio.ensure_future(bench.plane.release(effect))
    await asyncio.wait_for(written.wait(), 5)
    frame = msgspec.json.decode(session.link.take(0)[0])
    assert frame["payload"]["scope"] == "r"
    assert not released.done()
    session.delivered(frame["id"], ok=True)
    await released


async def test_a_log_that_cannot_be_kept_holds_up_nobodys_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    write = bench.engine.write

    async def choosy(*made: Any, **more: Any) -> None:
        if any(isinstance(row, LogChunk) for row in made):
            raise BadRequest("no such text")
        await write(*made, **more)

    monkeypatch.setattr(bench.engine, "write", choosy)
    bench.plane.feedback.take(session, "a@1", feedback("log", "words"))
    await bench.plane.feedback.flush()


def feedback(channel: str, text: str) -> m.Feedback:
    return m.Feedback(run_id="r", task_id="a@1", chunks=[m.Chunk(channel=channel, text=text)])


async def test_logs_wait_while_the_database_is_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()

    async def away(*_: Any, **__: Any) -> None:
        raise Unavailable("away", 0.0)

    bench.plane.feedback.take(session, "a@1", feedback("log\0x", "words"))
    with monkeypatch.context() as outage:
        outage.setattr(bench.engine, "write", away)
        with pytest.raises(Unavailable):
            await bench.plane.feedback.flush()
    await bench.plane.feedback.flush()
    (kept,) = bench.local.database.table(LogChunk).values()
    assert (kept.channel, kept.text) == ("log\ufffdx", "words")


async def test_pieces_of_a_result_are_merged_while_the_task_runs(bench: Bench) -> None:
    session, sink = await bench.session(), bench.plane.feedback
    said: list[dict[str, Any]] = [
        {"results": {"a": 1, "b": 2, "/c/d": 3}},
        {"results": {"a": None}, "summary": "two"},
    ]
    for metadata in said:
        sink.take(session, "a@1", m.Feedback(run_id="r", task_id="a@1", metadata=metadata))
    assert sink.progress["a@1"].result() == {"b": 2, "c": {"d": 3}, "summary": "two"}


def acknowledgements(session: LinkSession) -> list[tuple[bool | None, str]]:
    """What is acknowledged of frames by their ids: how, and what is told with it."""
    frames = [msgspec.json.decode(frame) for frame in session.link.take(0)]
    acks = [frame["payload"] for frame in frames if frame["type"].endswith("ack")]
    return [(ack["ok"], ack.get("info", "")) for ack in acks if ack.get("for")]


def first_generation(message: m.Result, id_: str, seq: int | None = None) -> Arrived:
    """A frame of a worker that does not number its session."""
    envelope = Envelope(
        type="result",
        id=id_,
        ts="",
        seq=seq,
        tenant="default",
        sender=Sender("worker", "i"),
        ack=AckRequest(request=True),
        payload=msgspec.Raw(b"{}"),
    )
    return Arrived(Heard(envelope), message)


async def succeed(*_: Any, **__: Any) -> str:
    return "accepted"


async def test_a_result_that_comes_twice_is_dropped_acknowledged_and_told_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The design: duplicates are dropped and acked; E.RESULT.DUPLICATE."""
    session = await bench.session()
    monkeypatch.setattr(bench.plane.attempts, "succeeded", succeed)
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    for id_ in ("one", "while it is written"):
        session.arrived(first_generation(result(), id_))
    await reported(session)
    session.arrived(first_generation(result(), "later"))
    duplicate = (True, "E.RESULT.DUPLICATE: the result is there already")
    assert acknowledgements(session) == [(True, ""), duplicate, duplicate]


async def test_a_gap_in_the_numbers_of_results_is_told_and_costs_no_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The design: numbers strictly increase per run; a gap is E.RESULT.SEQ_GAP."""
    session = await bench.session()
    monkeypatch.setattr(bench.plane.attempts, "succeeded", succeed)
    for seq in (1, 2, 5, 6):
        attempt_id = f"a.{seq}@1"
        session.held[attempt_id] = Held(attempt_id, "r", "kind", 0)
        session.arrived(first_generation(result(attempt_id), f"f-{seq}", seq))
        await reported(session)
    told = acknowledgements(session)
    assert [ok for ok, _ in told] == [True] * 4
    assert [info for _, info in told] == [
        "",
        "",
        "E.RESULT.SEQ_GAP: 3 was expected, and 5 came",
        "",
    ]


# Environments


@pytest.mark.parametrize(("features", "told"), [((), False), (("env",), True)])
async def test_only_who_says_it_uses_environments_is_told_of_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...], told: bool
) -> None:
    """Others refuse a frame with a field that they do not know."""
    session = await bench.session()
    session.link.features = frozenset(features)
    await bench.plane.secret()
    sent: list[m.Dispatch] = []
    monkeypatch.setattr(session.link, "send", lambda dispatch, *_, **more: sent.append(dispatch))
    place = {"session_id": "s", "kind": "noop", "resource_name": "box", "lease_epoch": 2}
    text = msgspec.json.encode({**place, "details": {}}).decode()
    Dispatching(session).begin(assignment(env=text))
    [dispatch] = sent
    assert (dispatch.env is not None) is told
    if dispatch.env is not None:
        assert dispatch.env.token == await bench.plane.attempts.token("t@1")
        assert dispatch.env.lease_epoch == 2


async def test_what_a_worker_says_is_written_soon_so_that_other_servers_know_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback_module, "_GATHER_S", 0.0)
    session = await bench.session()
    sink = bench.plane.feedback
    told = m.Chunk(channel="log", text="two\n", metadata={"level": "WARN"})
    said = m.Feedback(run_id="r", task_id="t", chunks=[m.Chunk(channel="log", text="one\n"), told])
    sink.take(session, "r~a.1@1", said)
    sink.take(session, "r~a.1@1", said)
    async with asyncio.timeout(5):
        while len(bench.local.database.table(LogChunk)) < 2:  # noqa: ASYNC110  no signal to wait on
            await asyncio.sleep(0.01)
    rows = list(bench.local.database.table(LogChunk).values())
    assert {(row.text, row.marks) for row in rows} == {("one\ntwo\n", '[[4,3,"warning"]]')}
