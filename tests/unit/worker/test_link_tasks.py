"""Tasks of a link worker: each dispatch once, and no more kept of it than may be asked for."""

import msgspec
import pytest

from tests.unit.protocol.test_link import dispatch, result
from windlass.protocol.link import messages as m
from windlass.server.link.outcomes import failure_of_code
from windlass.worker.link.executor import Feedback, Next
from windlass.worker.link.tasks import Tasks

pytestmark = pytest.mark.anyio


class Echo:
    """Succeeds at once."""

    def __init__(self) -> None:
        self.runs = 0

    def packages(self) -> list[m.PackageField]:
        return []

    def manifests(self) -> list[m.ManifestField]:
        return []

    def handles(self, dispatch: m.Dispatch) -> bool:
        return True

    async def execute(self, dispatch: m.Dispatch, feedback: Feedback, next_: Next) -> m.Result:
        self.runs += 1
        return result(dispatch.task_id)

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_result_is_sent_again_until_the_server_has_it_and_then_let_go() -> None:
    echo, sent = Echo(), list[m.Result]()
    tasks = Tasks([echo], 4, {}, sent.append, lambda *_: None)

    def given() -> None:
        tasks.dispatched(dispatch(), lambda _: lambda _: None, lambda _: unasked)

    given()
    await tasks.drain()
    given()
    assert len(sent) == 2
    tasks.settled("t@1")
    given()
    assert (echo.runs, len(sent)) == (1, 2)
    assert list(tasks._ended.values()) == [None]


async def unasked(_: object) -> dict[str, object]:
    raise AssertionError("nothing comes after it")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"package_version": ""}, "package_version is empty"),
        ({"node_type": ""}, "node_type is empty"),
        ({"chain_index": 1, "middleware_chain": ["a"]}, "chain_index without host_node_id"),
        (
            {"chain_index": 3, "middleware_chain": ["a"], "host_node_id": "h"},
            "chain_index is 3, and the chain has 1 middlewares",
        ),
    ],
)
async def test_a_dispatch_that_does_not_fit_together_is_refused(
    changed: dict[str, object], said: str
) -> None:
    echo, refused = Echo(), list[tuple[str, str]]()
    tasks = Tasks(
        [echo], 4, {}, lambda _: None, lambda _, code, text, __: refused.append((code, text))
    )
    odd = msgspec.structs.replace(dispatch(), **changed)
    tasks.dispatched(odd, lambda _: lambda _: None, lambda _: unasked)
    assert (echo.runs, refused) == (0, [("E.DISPATCH.INVALID_METADATA", said)])
    assert failure_of_code(refused[0][0], said).kind == "fatal"
