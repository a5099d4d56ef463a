"""The engine for users' tests: whole flows, no database, no waiting."""

import time
from itertools import pairwise
from typing import Any

import pytest

from windlass import Flow
from windlass.model.errors import BadRequest
from windlass.model.states import RunState
from windlass.testing.local import local_engine
from windlass.worker import Context, TemporaryError, Worker

pytestmark = pytest.mark.anyio


def chain(*nodes: dict[str, Any]) -> dict[str, Any]:
    names = [f"n{index}" for index in range(len(nodes))]
    edges = [{"from": one, "action": "default", "to": two} for one, two in pairwise(names)]
    return {"start": names[0], "nodes": dict(zip(names, nodes, strict=True)), "edges": edges}


def calls(service: str, **more: Any) -> dict[str, Any]:
    node = {"kind": "executor", "service": service, "post": {"output_key": service}}
    return {**node, **more}


async def double(value: Any, params: dict[str, Any]) -> int:
    return 2 * int(params["n"])


def broken(value: Any, params: dict[str, Any]) -> None:
    raise ValueError("no such thing")


async def test_a_flow_runs_to_its_end() -> None:
    async with local_engine({"double": double}) as engine:
        ended = await engine.run(chain(calls("double")), {"n": 21})
    assert ended.state is RunState.SUCCEEDED
    assert ended.shared == {"double": 42}


async def test_a_flow_written_in_python_runs_as_it_is() -> None:
    with Flow("doubled", params={"n": int}) as flow:
        flow.step("a", "double", output="doubled")
    async with local_engine({"double": double}) as engine:
        ended = await engine.run(flow, {"n": 21})
        assert ended.shared == {"doubled": 42}
        with pytest.raises(BadRequest, match='flow "doubled": there is no parameter "m"'):
            await engine.start(flow, {"m": 1})


async def test_an_hour_passes_in_no_time() -> None:
    began = time.monotonic()
    timer = {"kind": "timer", "params": {"delay_ms": 3_600_000}}
    async with local_engine({"double": double}) as engine:
        ended = await engine.run(chain(timer, calls("double")), {"n": 1})
    assert ended.state is RunState.SUCCEEDED
    assert (ended.run.finished_at or 0) - ended.run.created_at >= 3_600_000
    assert time.monotonic() - began < 5


async def test_failures_are_retried_with_their_pauses() -> None:
    async with local_engine({"broken": broken}) as engine:
        node = calls("broken", max_retries=2, wait_ms=60_000, exec_type="queue")
        ended = await engine.run(chain(node))
        assert ended.state is RunState.FAILED
        assert len(engine.attempts(ended.run.id)) == 3
        assert "Traceback" in (engine.attempts(ended.run.id)[0].log or "")
    assert "no such thing" in (ended.run.error or "")


async def test_people_and_signals() -> None:
    approval = {"kind": "approval", "params": {"approval_key": "ok"}}
    wait = {"kind": "wait_event", "params": {"signal_key": "$shared.paid"}}
    async with local_engine({}) as engine:
        run_id = await engine.start(chain(approval, wait))
        assert (await engine.waits(run_id)).tasks[-1].kind == "approval"
        await engine.answer(run_id, True)
        await engine.waits(run_id)
        await engine.signal(run_id, "paid", {"euro": 5})
        ended = await engine.ended(run_id)
    assert ended.state is RunState.SUCCEEDED
    assert ended.shared == {"ok": True, "paid": {"euro": 5}}


async def test_a_run_that_waits_for_ever_says_so() -> None:
    wait = {"kind": "wait_event", "params": {"signal_key": "$shared.paid"}}
    async with local_engine({}) as engine:
        run_id = await engine.start(chain(wait))
        with pytest.raises(TimeoutError, match="waiting at node n0"):
            await engine.ended(run_id, wait_s=0.1)


async def test_a_real_worker_is_called_with_its_real_binding() -> None:
    worker = Worker()

    @worker.service("price")
    def price(ctx: Context, sku: str, count: int = 1) -> dict[str, Any]:
        ctx.log(f"{sku} in {ctx.node}")
        return {"sku": sku, "count": count}

    node = calls("price", prep={"input_map": {"sku": "$params.sku", "count": "$params.count"}})
    async with local_engine(worker) as engine:
        ended = await engine.run(chain(node), {"sku": "A1", "count": 2})
        assert ended.shared == {"price": {"sku": "A1", "count": 2}}
        assert engine.attempts(ended.run.id)[0].log == "A1 in n0"
        ended = await engine.run(chain({**node, "max_retries": 5}), {"sku": "A1", "count": "two"})
        assert ended.state is RunState.FAILED
        assert len(engine.attempts(ended.run.id)) == 1


async def test_a_question_is_waited_for_over_retries() -> None:
    tries: list[int] = []
    worker = Worker()

    @worker.service("flaky")
    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise TemporaryError("busy", retry_after_s=3600)
        return "ok"

    approval = {"kind": "approval", "params": {"prompt": "Send it?", "timeout_ms": 86_400_000}}
    began = time.monotonic()
    async with local_engine(worker) as engine:
        flaky_node = calls("flaky", exec_type="queue", max_retries=5)
        run_id = await engine.start(chain(flaky_node, approval))
        question = await engine.asks(run_id)
        assert (question.prompt, len(tries)) == ("Send it?", 3)
        assert (await engine.waits(run_id)).tasks[-1].kind == "approval"
        await engine.answer(run_id, "approved")
        assert (await engine.ended(run_id)).state is RunState.SUCCEEDED
        run_id = await engine.start(chain(calls("flaky")))
        with pytest.raises(LookupError, match="asks nobody"):
            await engine.asks(run_id)
    assert time.monotonic() - began < 5
