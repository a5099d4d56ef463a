"""A link worker on a line that breaks, or that it breaks itself."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.test_link import dispatch, handshake, register, result
from tests.unit.worker.test_link_tasks import Echo
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, decode, encode
from windlass.protocol.link.worker import FrameSettled, Ready, WorkerLink
from windlass.worker.link.executor import Executor, Feedback, Next
from windlass.worker.link.runner import LinkRunner
from windlass.worker.link.serve import handshake_of, register_of
from windlass.worker.link.settings import LinkSettings
from windlass.worker.link.socket import Closed, Socket
from windlass.worker.link.tasks import Tasks

pytestmark = pytest.mark.anyio


class NoPackages:
    """Cannot do anything, and says so in its own way."""

    def __init__(self) -> None:
        self.released: list[str] = []

    async def install(self, command: m.PkgInstall) -> m.PkgEvent:
        raise ValueError("not foreseen")

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]:
        raise OSError("the disk is full")

    async def release(self, scope: str) -> None:
        self.released.append(scope)
        raise OSError("the disk is gone")


class Well:
    def metrics(self, inflight: int, held: list[str]) -> dict[str, Any]:
        return {"inflight": inflight}


def runner_of(
    dial: Any,
    folder: Path,
    executor: Executor | None = None,
    packages: NoPackages | None = None,
    generation: Generation = Generation.SECOND,
) -> tuple[LinkRunner, WorkerLink]:
    link = WorkerLink(generation, "default", handshake(generation), register)
    runners: list[LinkRunner] = []
    tasks = Tasks(
        [executor] if executor is not None else [],
        1,
        {},
        lambda result: runners[0].report(result),
        lambda *said: runners[0].refuse(*said),
    )
    settings = LinkSettings(
        worker_id="w", url="ws://localhost/ws/worker", data_dir=folder, reconnect_first_s=0.001
    )
    runners.append(LinkRunner(settings, link, tasks, packages or NoPackages(), Well(), dial))
    return runners[0], link


def frames_of(link: WorkerLink) -> list[tuple[str, Any]]:
    """What it has to say, by the name of the frame."""
    envelopes = [decode(frame) for frame in link.take(0)]
    return [(envelope.type, json.loads(bytes(envelope.payload))) for envelope in envelopes]


async def beat_of(runner: LinkRunner, link: WorkerLink) -> Any:
    beating = asyncio.ensure_future(runner._beating())
    await asyncio.sleep(0)
    beating.cancel()
    return dict(frames_of(link))["control.heartbeat"]


async def test_a_mistake_on_the_line_ends_the_line_and_not_the_worker(tmp_path: Path) -> None:
    dialled: list[int] = []
    again = asyncio.Event()

    def dial() -> AbstractAsyncContextManager[Socket]:
        dialled.append(1)
        if len(dialled) == 3:
            again.set()
        raise KeyError("ours")

    runner, _ = runner_of(dial, tmp_path)
    running = asyncio.ensure_future(runner.run(0))
    async with asyncio.timeout(5):
        await again.wait()
        runner.stop()
        await running


async def test_what_became_of_a_package_while_the_line_was_cut_is_told_later(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path)
    runner._order(m.PkgInstall(name="kit", version="1.0.0"))
    await runner._orders.all_done()
    link.ready = True
    runner._handle(Ready(resumed=True))
    frames = b"".join(link.take(0))
    assert b"biz.pkg.event" in frames
    assert b"not foreseen" in frames
    assert b"control.register" in frames


async def test_a_drained_worker_refuses_what_is_new_until_it_is_taken_back(tmp_path: Path) -> None:
    echo = Echo()
    runner, link = runner_of(None, tmp_path, echo)
    link.ready = True
    runner._order(m.Drain(reason="maintenance"))
    assert (await beat_of(runner, link))["healthy"] is False
    runner._order(dispatch("t@1"))
    [(name, error)] = frames_of(link)
    assert (name, error["code"]) == ("biz.exec.error", codes.CONCURRENCY)
    runner._order(m.Drain(reason="undrain"))
    assert (await beat_of(runner, link))["healthy"] is True
    runner._order(dispatch("t@2"))
    await asyncio.sleep(0.01)
    assert [name for name, _ in frames_of(link)] == ["biz.exec.result"]


@pytest.mark.parametrize("resumed", [True, False])
async def test_a_drain_lasts_as_long_as_its_session(tmp_path: Path, resumed: bool) -> None:
    runner, link = runner_of(None, tmp_path)
    runner._order(m.Drain())
    link.ready = True
    runner._handle(Ready(resumed=resumed))
    assert (await beat_of(runner, link))["healthy"] is not resumed


async def test_a_removal_that_fails_is_told(tmp_path: Path) -> None:
    runner, link = runner_of(None, tmp_path)
    link.ready = True
    runner._order(m.PkgUninstall(name="kit"))
    await runner._orders.all_done()
    event = dict(frames_of(link))["biz.pkg.event"]
    assert (event["name"], event["version"], event["status"]) == ("kit", "*", "failed")
    assert event["details"]["operation"] == "uninstall"
    assert "the disk is full" in event["details"]["message"]


async def test_clearing_away_happens_beside_the_link_and_cannot_break_it(tmp_path: Path) -> None:
    packages = NoPackages()
    runner, _ = runner_of(None, tmp_path, packages=packages)
    runner._order(m.ReleaseResources(scope="r"))
    assert packages.released == []
    await runner._orders.all_done()
    assert packages.released == ["r"]


class Slow(Echo):
    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        await self.go.wait()
        return await super().execute(dispatch, feedback, next_)


async def test_what_is_kept_for_a_run_that_goes_on_elsewhere_goes_with_its_last_task(
    tmp_path: Path,
) -> None:
    packages, slow = NoPackages(), Slow()
    runner, link = runner_of(None, tmp_path, slow, packages)
    link.ready = True
    runner._order(m.Rebind(run_id="another"))
    runner._order(dispatch("t@1"))
    runner._order(m.Rebind(run_id="r"))
    await runner._orders.all_done()
    assert packages.released == ["another"]
    slow.go.set()
    await runner._tasks.drain()
    await runner._orders.all_done()
    assert packages.released == ["another", "r"]


async def test_feedback_that_is_not_heard_neither_grows_nor_holds_up_a_report(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path)
    link.ready = True
    chatty = runner._feedback(dispatch("chatty@1"))
    for number in range(5000):
        chatty({"progress": number / 5000})
    channel = link.channel
    assert channel.unacknowledged + len(runner._told._waiting) < 400
    before = len(channel.outbound.waiting)
    runner.report(result("quiet@1"))
    assert before <= 1
    assert len(channel.outbound.waiting) == before + 1


async def test_feedback_given_while_the_line_is_cut_is_told_later(tmp_path: Path) -> None:
    runner, link = runner_of(None, tmp_path)
    runner._feedback(dispatch("t@1"))({"message": "half way"})
    runner.report(result("t@1"))
    link.ready = True
    runner._handle(Ready(resumed=True))
    assert [name for name, _ in frames_of(link)] == ["biz.exec.feedback", "biz.exec.result"]


async def test_in_the_first_generation_a_report_is_sent_until_it_is_acknowledged(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path, generation=Generation.FIRST)
    link.ready = True
    runner.report(result("t@1"))
    (first,) = [decode(frame) for frame in link.take(0)]
    assert first.wants_ack
    later = runner._clock()
    sent: list[str] = []
    for _ in range(20):
        later += 6
        runner._clock = lambda: later  # noqa: B023  each turn has its own time
        runner._tick()
        sent += [decode(frame).id for frame in link.take(0)]
    assert len(sent) == 20
    assert len(set(sent)) > 1  # given up on one frame, it tries another
    runner._settled(FrameSettled(sent[-1]))
    assert not runner._unsettled


def test_in_the_first_generation_there_is_a_list_of_packages_even_if_it_is_empty() -> None:
    settings = LinkSettings(worker_id="w", url="", generation=1)
    assert b'"packages":[]' in encode(register_of(settings, []))
    assert handshake_of(settings).worker.id == "w"


async def test_a_heartbeat_says_how_long_reports_take_and_that_packages_changed(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path)
    link.ready = True
    now = [1000.0]
    runner._clock = lambda: now[0]
    runner._handle(Ready(resumed=False))
    runner.report(result("t@1"))
    now[0] += 0.25
    runner._settled(FrameSettled(next(iter(runner._frames))))
    runner._drifted = lambda: True
    frames = dict(frames_of(link)) | {"control.heartbeat": await beat_of(runner, link)}
    assert frames["control.heartbeat"]["metrics"]["latency_ms"] == 250
    assert frames["control.heartbeat"]["packages"] == {"drift": True}


async def test_a_report_that_was_under_way_during_a_cut_says_nothing_about_the_line(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path)
    link.ready = True
    now = [1000.0]
    runner._clock = lambda: now[0]
    runner.report(result("t@1"))
    now[0] += 60
    runner._handle(Ready(resumed=True))
    runner._settled(FrameSettled(next(iter(runner._frames))))
    assert "latency_ms" not in (await beat_of(runner, link))["metrics"]


async def pauses_of(
    lines: list[tuple[float, str]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    busy: bool = False,
) -> list[int]:
    """How long it pauses, in whole firsts, after lines that hold so long and break with a word."""
    now, pauses = [0.0], list[float]()
    left = list(lines)

    def dial() -> AbstractAsyncContextManager[Socket]:
        held_s, word = left.pop(0)
        if held_s:
            runner._link._session = m.Accept(
                session_id="s", session_token="t", worker_instance_id="i"
            )
            runner._handle(Ready(resumed=False))
        now[0] += held_s
        if not left:
            runner.stop()
        raise Closed(word)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds
        await real(0)

    real = asyncio.sleep
    runner, _ = runner_of(dial, folder)
    if busy:
        in_hand: Any = object()
        runner._tasks.running["t@1"] = in_hand
    runner._clock = lambda: now[0]
    monkeypatch.setattr(asyncio, "sleep", sleep)
    connecting = asyncio.ensure_future(runner._connecting())
    while left:
        await real(0)
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    return [round(pause / runner._settings.reconnect_first_s) for pause in pauses]


async def test_pauses_grow_while_nobody_is_there_and_are_short_after_a_good_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (0.0, "[Errno 111] Connection refused")
    lines = [gone, gone, gone, (3.0, "cut"), gone, (0.5, "cut"), gone]
    first, second, third, after, again, *_ = await pauses_of(lines, tmp_path, monkeypatch)
    assert first < second < third
    assert after < second
    assert after < again


async def test_a_server_that_forgot_the_session_is_asked_for_a_new_one_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = (0.0, "E.SESSION.UNKNOWN: Unknown session")
    lines = [(3.0, "cut"), unknown, (3.0, "cut"), unknown, unknown, (3.0, "cut")]
    # One each after the three lines that were cut, and one after being told twice in a row.
    assert len(await pauses_of(lines, tmp_path, monkeypatch)) == 4


async def test_a_worker_that_has_something_in_hand_does_not_stay_away_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (0.0, "[Errno 111] Connection refused")
    idle = await pauses_of([gone] * 16, tmp_path, monkeypatch, busy=False)
    busy = await pauses_of([gone] * 16, tmp_path, monkeypatch, busy=True)
    # In firsts of a millisecond, each give or take a fifth.
    assert max(idle) > 4_800
    assert max(busy) <= 4_800
