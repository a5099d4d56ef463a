"""What a handler says it has used goes with its outcome, whatever the transport."""

from typing import Any, cast

import msgspec
import pytest

from windlass.model.budgets import read_usage
from windlass.protocol.link import messages as m
from windlass.server.link.outcomes import usage_of
from windlass.worker import Context, Worker
from windlass.worker.link.executor import ServiceExecutor


def test_what_is_reported_adds_up_and_nothing_is_given_back() -> None:
    context = Context()
    assert context.usage == {}
    context.report_usage(tokens=5)
    context.report_usage(tokens=7, money=0.5)
    assert context.usage == {"tokens": 12, "money": 0.5}
    with pytest.raises(ValueError, match="given back"):
        context.report_usage(tokens=-1)


def test_usage_that_makes_no_sense_is_left_out_as_the_result_counts() -> None:
    assert read_usage({"tokens": 5, "money": 0.25}) == {"tokens": 5, "money": 250_000}
    wrong = {"tokens": "many", "money": -1, "attempts": 9, "apples": 3}
    assert read_usage(wrong) == {}
    assert read_usage(["tokens"]) == {}
    assert read_usage({"tokens": float("nan")}) == {}


@pytest.mark.anyio
async def test_a_link_worker_says_it_in_the_metadata_of_its_result() -> None:
    worker = Worker()

    @worker.service("agent")
    def agent(ctx: Context) -> str:
        ctx.report_usage(tokens=5)
        return "done"

    async def read(_: m.Dispatch) -> msgspec.Raw:
        return msgspec.Raw(b'{"input": null, "params": {}}')

    dispatch = m.Dispatch(
        run_id="r",
        task_id="t@1",
        node_id="a",
        node_type="agent",
        package_name=m.SERVICES_PACKAGE,
        package_version="0",
        parameters=msgspec.Raw(b"{}"),
        constraints=m.Constraints(),
    )
    executor = ServiceExecutor(worker, 1, read)
    result = await executor.execute(dispatch, lambda said: None, cast(Any, None))
    await executor.close()
    assert result.status == "SUCCEEDED"
    assert usage_of(result) == {"tokens": 5}
    result.metadata = None
    assert usage_of(result) is None
