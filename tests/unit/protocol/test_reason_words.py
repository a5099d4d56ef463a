"""Reasons in English: none is left without words, and they count."""

import msgspec
import pytest

from windlass.model.ids import node_path
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.protocol.reason_words import WORDS, say, say_why

NOW = 1_000_000
FULL = ReasonValues(
    node="fetch",
    idx=2,
    role="work",
    worker="w-1",
    workers=3,
    attempt=4,
    since=NOW - 5_000,
    until=NOW + 9_000,
    transport="pull",
    service="s",
    other_worker="w-2",
    other_transport="push",
    install_worker="w-3",
    pod="ns/p",
    env="box",
    kind="container",
    message="its words",
)


@pytest.mark.parametrize("code", ReasonCode)
def test_every_code_has_words_for_a_task_with_everything_and_with_little_known(
    code: ReasonCode,
) -> None:
    assert code in WORDS
    assert say(Reason(code, FULL), NOW)
    assert say(Reason(code, ReasonValues(role="work")), NOW)


def test_the_same_reason_says_less_time_left_later() -> None:
    held = Reason(ReasonCode.LEASE_HELD, FULL)
    assert say(held, NOW) == '"fetch"[2] runs on w-1 (attempt 4, lease for 9 s more)'
    assert "lease for 4 s more" in say(held, NOW + 5_000)


def test_the_line_of_a_run_tells_how_many_others_there_are() -> None:
    waits = Reason(ReasonCode.SIGNAL, ReasonValues(node="hold", key="go"))
    line = say_why(waits, NOW, more=2, cancelling=True)
    assert line == 'being cancelled: "hold" waits for signal "go" (and 2 more)'


def test_a_node_is_named_as_it_was_written() -> None:
    held = Reason(
        ReasonCode.SIGNAL, ReasonValues(node=node_path(node_path("", "里"), "a/b"), key="k")
    )
    assert say(held, NOW) == '"里/a/b" waits for signal "k"'


def test_values_that_are_as_usual_do_not_travel() -> None:
    sent = msgspec.to_builtins(ReasonValues(node="a", fails_after_s=1.5))
    assert sent == {"node": "a", "failsAfterS": 1.5}
