"""How long a worker relies on what it holds."""

import threading

import pytest

from windlass.model.errors import Unavailable
from windlass.protocol.exchange import Exchange, Registered, Reply
from windlass.worker import lease_renewer
from windlass.worker.context import Context, Stop
from windlass.worker.lease_renewer import LeaseRenewer
from windlass.worker.leases import Leases


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeLink:
    """A server in one place: gives the reply it was told to, or is not there."""

    def __init__(self) -> None:
        self.reply: Reply | None = Reply()
        self.sent: list[Exchange] = []
        self.registered = 0

    def register(self, timeout_s: float) -> Registered:
        self.registered += 1
        return Registered()

    def exchange(self, message: Exchange, timeout_s: float) -> Reply:
        self.sent.append(message)
        if self.reply is None:
            raise Unavailable("nobody there")
        return self.reply

    def close(self) -> None: ...


def make() -> tuple[Clock, Leases, Context, FakeLink, LeaseRenewer]:
    clock, link = Clock(), FakeLink()
    leases = Leases(clock)
    context = Context(attempt_id="a@1", clock=clock)
    leases.add(context, lease_s=10, asked_at=clock.now)
    return clock, leases, context, link, LeaseRenewer(link, leases, ["s"], lambda: 1, clock)


def test_trust_in_a_lease_ends_at_four_fifths_of_its_term() -> None:
    clock, leases, context, _, _ = make()
    clock.now += 7.9
    assert not context.cancelled
    assert leases.expire() == []
    clock.now += 0.2
    assert context.stopped is Stop.LOST
    assert leases.expire() == ["a@1"]
    assert leases.ids() == []


def test_trust_counts_from_the_request_and_not_from_its_answer() -> None:
    clock, leases, _, _, _ = make()
    late = Context(attempt_id="b@1", clock=clock)
    leases.add(late, lease_s=10, asked_at=clock.now - 9)
    assert late.stopped is Stop.LOST


def test_a_beat_renews_what_is_held() -> None:
    clock, leases, context, link, renewer = make()
    clock.now += 6
    renewer.beat()
    assert link.sent[0].renew == ["a@1"]
    assert link.sent[0].slots == 0
    clock.now += 6
    assert not context.cancelled
    assert leases.ids() == ["a@1"]


def test_failing_beats_stop_the_handler_before_the_server_gives_its_work_away() -> None:
    clock, _, context, link, renewer = make()
    link.reply = None
    stopped: list[float] = []
    context.on_stop(lambda: stopped.append(clock.now))
    for _ in range(9):
        clock.now += 1
        renewer.beat()
    assert stopped == [108.0]
    assert context.stopped is Stop.LOST


def test_the_server_may_ask_to_stop_or_say_that_a_lease_is_gone() -> None:
    _, leases, context, link, renewer = make()
    link.reply = Reply(cancel=["a@1"])
    renewer.beat()
    assert str(context.stopped) == "cancelled"
    assert leases.ids() == ["a@1"]
    link.reply = Reply(lost=["a@1"])
    renewer.beat()
    assert context.stopped is Stop.LOST
    assert leases.ids() == []


def test_a_server_that_forgot_us_is_told_again_and_has_renewed_nothing() -> None:
    clock, _, context, link, renewer = make()
    link.reply = Reply(known=False)
    clock.now += 5
    renewer.beat()
    assert link.registered == 1
    clock.now += 4
    assert context.stopped is Stop.LOST


def test_a_finished_attempt_stays_renewed_but_is_no_longer_stopped() -> None:
    clock, leases, context, _, _ = make()
    leases.settle("a@1")
    clock.now += 60
    assert leases.expire() == []
    assert leases.ids() == ["a@1"]
    assert not context.cancelled


def test_what_is_logged_is_told_long_before_the_next_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_renewer, "LOGS_S", 0.0)
    monkeypatch.setattr(lease_renewer, "BUSY_S", 3600.0)
    _, _, context, link, renewer = make()
    renewer.set_terms(Registered(lease_s=36_000, heartbeat_s=3600))
    told = threading.Event()

    def exchange(message: Exchange, _: float) -> Reply:
        if [said.text for said in message.said] == ["a word"]:
            told.set()
        return Reply()

    monkeypatch.setattr(link, "exchange", exchange)
    context.trusted_until = float("inf")
    renewer.start()
    try:
        context.log("a word")
        assert told.wait(10)
    finally:
        renewer.stop()
