"""Whatever a handler makes of its words, the server can take the frame they come in."""

import random
from typing import Any

import msgspec
import pytest

from tests.unit.protocol.test_link import dispatch, pair, result
from tests.unit.worker.test_link_tasks import unasked
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import PAYLOAD_BYTES_MAX, Generation, decode, payload_of
from windlass.worker.link.chains import Chains, NextFailed
from windlass.worker.link.executor import Feedback, Next
from windlass.worker.link.fit import fitting, flaw
from windlass.worker.link.tasks import Running, Tasks
from windlass.worker.outcome import MESSAGE_CHARS_MAX

pytestmark = pytest.mark.anyio


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels - 1):
        found = {"a": found}
    return found


def sent(message: m.Message) -> m.Message:
    """What the server reads of a message; raises if it would end the connection."""
    worker, _ = pair(Generation.SECOND)
    worker.send(message, 0, corr="t@1")
    (frame,) = worker.take(0)
    return payload_of(decode(frame))


HUGE = "x" * PAYLOAD_BYTES_MAX
UNFIT: dict[str, dict[str, Any]] = {
    "result": {"result": msgspec.Raw(msgspec.json.encode({"a": HUGE}))},
    "metadata": {"metadata": {"a": HUGE}},
    "artifacts": {"artifacts": [m.Artifact(resource_id=HUGE, type="file")]},
    "depth": {"result": msgspec.Raw(msgspec.json.encode(nested(199)))},
    "depth of metadata": {"metadata": nested(199)},
    "bytes that are no text": {"result": msgspec.Raw(b'{"a":"\xff"}')},
    "halves of characters": {"metadata": {"a": "\ud800"}},
}


@pytest.mark.parametrize("kind", UNFIT)
def test_a_result_that_cannot_travel_fails_and_says_why(kind: str) -> None:
    left = sent(fitting(msgspec.structs.replace(result(), **UNFIT[kind])))
    assert isinstance(left, m.Result)
    assert left.status == "FAILED"
    assert left.error is not None
    assert left.error.code == codes.RESULT_TOO_LARGE
    assert "cannot be sent" in left.error.message


@pytest.mark.parametrize("kind", UNFIT)
def test_a_failure_keeps_its_reason_whatever_is_said_beside_it(kind: str) -> None:
    error = m.ErrorField(code="E.RUNNER.FAILURE", message="no \ud800 " + HUGE, details=nested(300))
    failed = msgspec.structs.replace(result(), **UNFIT[kind], status="FAILED", error=error)
    left = sent(fitting(failed))
    assert isinstance(left, m.Result)
    assert left.error is not None
    assert left.error.code == "E.RUNNER.FAILURE"
    assert left.error.message.startswith("no ? xxx")
    assert len(left.error.message) == MESSAGE_CHARS_MAX


@pytest.mark.parametrize("levels", range(190, 205))
def test_the_depth_of_a_frame_is_used_to_the_last_level(levels: int) -> None:
    """The envelope and the message are a level each."""
    deep = msgspec.structs.replace(
        result(), result=msgspec.Raw(msgspec.json.encode(nested(levels)))
    )
    left = sent(fitting(deep))
    assert isinstance(left, m.Result)
    assert left.status == ("SUCCEEDED" if levels <= 198 else "FAILED")


class Boaster:
    """Returns more than can be sent."""

    def packages(self) -> list[m.PackageField]:
        return []

    def manifests(self) -> list[m.ManifestField]:
        return []

    def handles(self, dispatch: m.Dispatch) -> bool:
        return True

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        return msgspec.structs.replace(result(dispatch.task_id), metadata={"a": HUGE})

    async def close(self) -> None:
        """Nothing is open."""


async def test_tasks_report_only_what_can_travel() -> None:
    reported = list[m.Result]()
    tasks = Tasks([Boaster()], 4, {}, reported.append, lambda *_: None)
    tasks.dispatched(dispatch(), lambda _: lambda _: None, lambda _: unasked)
    await tasks.drain()
    assert [flaw(one) for one in reported] == [""]
    assert reported[0].status == "FAILED"


@pytest.mark.parametrize(
    "given",
    [
        {"payload": {"a": HUGE}},
        {"host_ctx": nested(300)},
        {"middleware_ctx": "no object"},
        {"timeout_ms": "soon"},
    ],
)
async def test_a_call_that_cannot_travel_fails_for_who_made_it(given: dict[str, Any]) -> None:
    asked: list[m.NextRequest] = []
    chains = Chains(lambda request, _: asked.append(request), random.Random(1))
    with pytest.raises(NextFailed, match="cannot be sent"):
        await chains.next_of(Running(dispatch()))(given)
    assert not asked
