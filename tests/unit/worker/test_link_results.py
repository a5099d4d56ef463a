"""A handler's outcome on the wire: what each generation's schema allows, and no more."""

import json
from typing import Any

import pytest

from tests.unit.protocol.test_link import dispatch
from tests.unit.worker.test_link_tasks import Echo, unasked
from windlass.protocol.exchange import Fault
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, encode
from windlass.worker.adapters.hosts import HandlerResult
from windlass.worker.adapters.messages import HandlerError
from windlass.worker.link.errors import NotHere
from windlass.worker.link.executor import Feedback, Next
from windlass.worker.link.executor import result_of as service_result
from windlass.worker.link.results import result_of, trace_of
from windlass.worker.link.tasks import Tasks
from windlass.worker.outcome import Outcome

pytestmark = pytest.mark.anyio

TRACE = 'Traceback:\n  File "/srv/w1/packages/kit/1.0.0/adapters/mine.py", line 3, in run\n'
OUTCOME = HandlerResult(
    status="FAILED",
    metadata={"mine": 1},
    artifacts=[{"resource_id": "a", "worker_id": "w1", "type": "file"}],
    error=HandlerError(code="E.X", message="no", details={"traceback": TRACE, "hint": "more"}),
)


def frame(generation: Generation) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode(result_of(dispatch(), OUTCOME, generation)))
    return found


@pytest.mark.parametrize(
    ("generation", "name"),
    [(Generation.FIRST, "worker_id"), (Generation.SECOND, "worker_name")],
)
def test_an_artifact_names_its_worker_as_its_generation_does(
    generation: Generation, name: str
) -> None:
    assert frame(generation)["artifacts"] == [{"resource_id": "a", name: "w1", "type": "file"}]


def test_an_error_has_a_code_and_a_message_and_its_details_are_beside_it() -> None:
    found = frame(Generation.SECOND)
    assert found["error"] == {"code": "E.X", "message": "no"}
    assert found["metadata"] == {"mine": 1, "error_details": {"hint": "more"}}


def test_a_trace_is_told_without_the_folders_of_this_machine() -> None:
    assert "srv" not in trace_of(OUTCOME)
    assert 'File "adapters/mine.py", line 3' in trace_of(OUTCOME)
    assert trace_of(HandlerResult(status="SUCCEEDED")) == ""


class Elsewhere(Echo):
    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        raise NotHere("its host is gone")


async def test_work_whose_host_is_lost_is_given_back_and_not_failed() -> None:
    results, refused = list[m.Result](), list[tuple[Any, ...]]()
    tasks = Tasks([Elsewhere()], 4, {}, results.append, lambda *said: refused.append(said))
    tasks.dispatched(dispatch(), lambda _: lambda _: None, lambda _: unasked)
    await tasks.drain()
    assert not results
    expected = (codes.DISPATCH_UNAVAILABLE, "its host is gone", "worker.runner")
    assert refused == [(dispatch(), *expected)]


def test_when_to_try_again_travels_beside_the_error() -> None:
    fault = Fault(kind="failed", message="busy", retry_after_ms=30_000)
    found = service_result(dispatch(), Outcome(fault=fault))
    assert found.metadata == {"retry_after_ms": 30_000}
