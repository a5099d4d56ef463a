"""Sessions of workers on the link: what races, outages and hostile words must not do to them."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from tests.unit.server.link_bench import (
    SERVICES,
    Bench,
    arrived,
    assignment,
    failures,
    link_bench,
    link_of,
    registration,
    reported,
)
from windlass.engine.attempts import Attempts, WaitingDemand
from windlass.engine.handlers import Handlers
from windlass.engine.loops.forever import run_forever
from windlass.model.assignment import Called
from windlass.model.errors import BadRequest, Unavailable
from windlass.model.graph import Kind
from windlass.model.ids import task_of
from windlass.model.rows import Attempt, Task
from windlass.model.states import AttemptState, TaskState
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation
from windlass.protocol.link.server import LinkState
from windlass.server.auth import Auth
from windlass.server.link import connection
from windlass.server.link.duties import LinkLeases
from windlass.server.link.held import Held
from windlass.server.link.outcomes import dispatch_of
from windlass.server.link.plane import LinkPlane
from windlass.server.link.profile import PARALLEL_MAX, Profile
from windlass.server.link.session import LinkSession

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with link_bench() as made:
        yield made


# Connections


async def test_of_two_registrations_at_the_same_moment_one_session_remains(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, both = bench.engine.store.query, asyncio.Barrier(2)

    async def slow(name: str, **params: Any) -> Any:
        rows = await query(name, **params)
        if name == "held_by":
            await both.wait()
        return rows

    monkeypatch.setattr(bench.engine.store, "query", slow)
    first, second = link_of(), link_of()
    one, two = await asyncio.gather(
        bench.plane.begin(first, registration()), bench.plane.begin(second, registration())
    )
    stays = bench.plane.sessions["w"]
    gone = one if stays is two else two
    assert gone.link.state is LinkState.CLOSED
    assert stays.link.state is LinkState.READY
    assert list(bench.plane._by_id.values()) == [stays]


async def test_what_was_given_while_a_worker_registered_again_is_not_forgotten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await bench.session()
    query = bench.engine.store.query

    async def slow(name: str, **params: Any) -> Any:
        rows = await query(name, **params)
        if name == "held_by":
            old.held["late@1"] = Held("late@1", "r", "kind", 0)
        return rows

    monkeypatch.setattr(bench.engine.store, "query", slow)
    assert list((await bench.session()).held) == ["late@1"]


async def test_a_worker_that_moved_to_another_server_is_not_declared_gone_by_the_first(
    bench: Bench,
) -> None:
    here = await bench.session()
    elsewhere = LinkPlane(bench.engine, Attempts(bench.engine))
    await elsewhere.begin(link_of(), registration())
    here.disconnected()
    here.cut_at -= 10_000
    await bench.plane.check()
    assert here.given_up
    assert bench.row().state == "online"


async def test_a_server_that_a_worker_left_unnoticed_writes_nothing_of_it_and_ends_its_session(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await bench.session()
    here.held["known@1"], here.held["unread@1"] = (
        Held(id_, "r", "kind", 0) for id_ in ("known@1", "unread@1")
    )
    here.held["known@1"].acked = True
    lost = failures(bench, monkeypatch)
    elsewhere = LinkPlane(bench.engine, Attempts(bench.engine))
    there = await elsewhere.begin(link_of(), registration("kit"))
    written = bench.row()
    await bench.plane.check()
    await reported(here)
    assert bench.row() == written
    assert not here.connected
    assert not bench.plane.sessions
    assert [failure.kind for failure in lost] == ["unreachable"], "what arrived there stays its own"
    await elsewhere.noting.note(there)
    assert bench.row().state == "online"


async def test_a_session_that_is_resumed_is_the_newest_again(bench: Bench) -> None:
    here = await bench.session()
    elsewhere = LinkPlane(bench.engine, Attempts(bench.engine))
    there = await elsewhere.begin(link_of(), registration())
    there.wake = lambda: None
    here.resumed()
    await reported(here)
    await elsewhere.check()
    assert here.connected
    assert not there.connected


async def test_a_worker_that_registers_elsewhere_just_now_is_not_declared_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await bench.session()
    elsewhere = LinkPlane(bench.engine, Attempts(bench.engine))
    here.disconnected()
    update, once = bench.engine.update, [1]

    async def late(*args: Any) -> Any:
        if once:
            once.clear()
            await elsewhere.begin(link_of(), registration())
        return await update(*args)

    monkeypatch.setattr(bench.engine, "update", late)
    await bench.plane.noting.gone(here)
    assert bench.row().state == "online"


async def test_a_worker_that_is_really_gone_is_declared_so(bench: Bench) -> None:
    session = await bench.session()
    session.disconnected()
    session.cut_at -= 10_000
    await bench.plane.check()
    assert bench.row().state == "offline"


async def test_what_cannot_be_noted_of_one_worker_is_noted_of_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        session = await bench.plane.begin(link_of(worker=name), registration())
        session.wake = lambda: None
    before = bench.row("b").seen_at
    note = bench.plane.noting.note

    async def choosy(session: LinkSession) -> None:
        if session.worker_id == "a":
            raise BadRequest("cannot be kept")
        await note(session)

    monkeypatch.setattr(bench.plane.noting, "note", choosy)
    await asyncio.sleep(0.002)
    await bench.plane.check()
    assert bench.row("b").seen_at > before


async def test_leases_count_from_the_moment_a_session_is_resumed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.session()
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    renewed: list[str] = []

    async def renew(ids: list[str]) -> dict[str, bool]:
        renewed.extend(ids)
        return dict.fromkeys(ids, False)

    monkeypatch.setattr(bench.plane.attempts, "renew", renew)
    session.resumed()
    await reported(session)
    assert renewed == ["a@1"]


async def test_a_worker_that_was_away_hears_what_was_stopped_meanwhile(bench: Bench) -> None:
    session = await bench.session()
    session.link.features = frozenset({"exec.cancel"})
    session.held["a@1"] = Held("a@1", "r", "kind", 0)
    session.disconnected()
    session.stop("a@1")
    assert b"exec.cancel" not in b"".join(session.link.take(0))
    session.wake = lambda: None
    session.resumed()
    assert b"exec.cancel" in b"".join(session.link.take(0))


async def test_a_worker_that_comes_back_is_told_to_stop_what_others_have_taken_up(
    bench: Bench,
) -> None:
    rows = {
        # Lost, and given to somebody else since; lost, and nobody has it yet; still its own.
        "r~a.1@1": (AttemptState.LOST, TaskState.RUNNING, 2),
        "r~b.1@1": (AttemptState.LOST, TaskState.QUEUED, 1),
        "r~c.1@1": (AttemptState.RUNNING, TaskState.RUNNING, 1),
        "r~d.1@1": (AttemptState.CANCELLED, TaskState.CANCELLED, 1),
    }
    for id_, (state, task_state, attempts) in rows.items():
        task = Task(
            id=task_of(id_),
            run_id="r",
            scope="r",
            node="a",
            kind=Kind.CALL,
            state=task_state,
            attempts=attempts,
            made_seq=1,
            created_at=0,
        )
        attempt = Attempt(
            id=id_,
            run_id="r",
            task_id=task.id,
            number=1,
            state=state,
            queue="pull:s",
            worker_id="w",
            lease_until=0,
            claimed_at=0,
        )
        bench.local.database.table(Task)[task.id] = task
        bench.local.database.table(Attempt)[id_] = attempt
    session = await bench.session()
    session.link.features = frozenset({"exec.cancel"})
    session.wake = lambda: None
    session.link.take(0)
    session.beat(m.Heartbeat(healthy=True, metrics={"inflight": 5, "held": [*rows, "nonsense"]}))
    await asyncio.gather(*session._tasks)
    sent = b"".join(session.link.take(0))
    assert {id_ for id_ in rows if f'"{id_}"'.encode() in sent} == {"r~a.1@1", "r~d.1@1"}
    session.beat(m.Heartbeat(healthy=True, metrics={"inflight": 5, "held": [*rows]}))
    await asyncio.gather(*session._tasks)
    assert b"exec.cancel" not in b"".join(session.link.take(0)), "once is enough"


async def test_renewing_goes_on_after_a_mistake_of_ours(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    enough = asyncio.Event()

    async def renew() -> None:
        calls.append(1)
        if len(calls) > 2:
            enough.set()
        raise KeyError("ours") if len(calls) == 1 else Unavailable("away", 0.0)

    monkeypatch.setattr(bench.plane, "renew", renew)
    monkeypatch.setattr(Attempts, "lease_s", 0.003)
    loop = asyncio.ensure_future(run_forever(LinkLeases(bench.plane)))
    async with asyncio.timeout(5):
        await enough.wait()
    loop.cancel()


class Silent:
    """A socket that says one thing and then nothing more."""

    def __init__(self, frame: str) -> None:
        self._frames = [frame]
        self.closed = ""

    async def receive(self) -> dict[str, Any]:
        if self._frames:
            return {"type": "websocket.receive", "text": self._frames.pop()}
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send_text(self, text: str) -> None:
        """Nobody listens."""

    async def close(self, code: int, reason: str) -> None:
        self.closed = reason


async def closed_after(bench: Bench, payload: dict[str, Any]) -> str:
    """Why the server closes on somebody who says one thing and then nothing."""
    frame = msgspec.json.encode(
        {
            "type": "control.handshake",
            "id": "1",
            "ts": "",
            "tenant": "default",
            "sender": {"role": "worker", "id": "w"},
            "payload": payload,
        }
    )
    socket = Silent(frame.decode())
    auth = Auth(bench.engine, required=False)
    async with asyncio.timeout(5):
        await connection.Connection(bench.plane, auth, socket).run()  # type: ignore[arg-type]
    return socket.closed


async def test_a_handshake_that_makes_no_sense_is_answered_at_once(bench: Bench) -> None:
    assert "missing required field" in await closed_after(bench, {})


async def test_whoever_does_not_register_is_not_kept_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HELLO_S", 0.02)
    worker = {"worker_name": "w", "version": "1", "hostname": "h"}
    handshake = {"protocol": 1, "auth": {"mode": "token"}, "worker": worker}
    assert await closed_after(bench, handshake) == "registration required"


# What it can take


def plain(limits: dict[str, int] | None = None, **more: Any) -> tuple[Profile, Handlers]:
    handlers = Handlers()
    handlers.learn(f"{SERVICES}@0", ["what another has"])
    return Profile("w", shouting(limits=limits, **more)), handlers


def shouting(**more: Any) -> m.Register:
    """A worker with one service that comes with no package."""
    manifest = {"nodes": [{"type": "shout"}]}
    told = [m.ManifestField(name=SERVICES, version="0", manifest=manifest)]
    return msgspec.structs.replace(registration(SERVICES, **more), manifests=told)


async def test_only_what_it_names_itself_is_a_worker_s_own() -> None:
    profile, handlers = plain()
    assert profile.queues(handlers) == ("pull:shout",)
    nameless = Profile("w", registration(SERVICES))
    assert nameless.queues(handlers) == ()


async def test_a_limit_on_a_plain_service_is_part_of_the_demand() -> None:
    profile, handlers = plain({"shout": 2})
    assert profile.queues(handlers) == ("pull:shout",)
    assert profile.caps(handlers, ["shout"]) == {"shout": 1}


async def test_no_worker_is_given_everything_whatever_it_says() -> None:
    profile, _ = plain(max_parallel=10**30)
    assert profile.max_parallel == PARALLEL_MAX


async def test_names_no_database_keeps_are_no_names_of_queues() -> None:
    handlers = Handlers()
    handlers.learn_manifest("good@0", {"nodes": [{"type": "a\0b"}, {"type": "c"}, {"type": ""}]})
    handlers.learn("bad\0@0", ["d"])
    profile = Profile("w", registration("good", "bad\0"))
    assert profile.services(handlers) == ["good@0:c"]


async def test_demand_with_limits_is_changed_rather_than_withdrawn(bench: Bench) -> None:
    bench.engine.handlers.learn("kit@0", ["a"])
    session = await bench.session(registration("kit", limits={"a": 1}))
    session.ask()
    waiting = session.asking.waiting
    session.held["x@1"] = Held("x@1", "r", "a", 0)
    session.ask()
    assert session.asking.waiting is waiting
    assert isinstance(waiting, WaitingDemand)
    assert (waiting._demand.slots, waiting._demand.caps) == (3, {"kit@0:a": 0})


async def test_branches_of_one_node_may_run_side_by_side_on_a_worker() -> None:
    def key(task_id: str, number: int = 1) -> str | None:
        return dispatch_of(assignment(task_id, number), Generation.SECOND).concurrency_key

    assert key("r~map.1~0") != key("r~map.1~1")
    assert key("r~map.1~0") == key("r~map.1~0", 2)


# Chains


async def answered(bench: Bench, monkeypatch: pytest.MonkeyPatch, output: str) -> LinkSession:
    """A worker with one slot, whose middleware has just been answered."""
    session = await bench.session(shouting(max_parallel=1))

    async def called(*_: Any) -> Called:
        return Called("t", TaskState.SUCCEEDED, output, None)

    monkeypatch.setattr(bench.plane.chains, "_commit", called)
    session.held["a@1"] = held = Held("a@1", "r", "kind", 0)
    request = m.NextRequest(request_id="q", run_id="r", node_id="n", middleware_id="x")
    await bench.plane.chains._call(session, held, arrived(request, corr="a@1"), request)
    return session


async def test_a_middleware_that_goes_on_takes_its_slot_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await answered(bench, monkeypatch, "{}")
    waiting = session.asking.waiting
    assert isinstance(waiting, WaitingDemand)
    assert waiting._demand.slots == 0


async def test_an_answer_too_large_for_a_frame_is_an_error_instead(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = msgspec.json.encode({"x": "y" * 1024 * 1024}).decode()
    session = await answered(bench, monkeypatch, output)
    frames = b"".join(session.link.take(0))
    assert b"next_too_large" in frames
    assert len(frames) < 10_000


# Metrics


async def test_a_workers_words_are_no_lines_of_the_metrics(bench: Bench) -> None:
    session = await bench.session()
    status = 'x"} 1\nforged 1\n'
    bench.plane.installs.reported(session, m.PkgEvent(name="a", version="1", status=status))
    assert not any("forged" in line for line in bench.plane.metric_lines())
