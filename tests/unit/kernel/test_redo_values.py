"""Shared keys after a redo: what the remaining results say, and nothing of what was undone."""

from typing import Any

import pytest

from windlass.model.states import RunState
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


def call(key: str, **more: Any) -> Json:
    return {"exec_type": "local_func", "func": "f", "post": {"output_key": key}, **more}


def flow(nodes: Json, *edges: tuple[str, str, str]) -> Json:
    listed = [{"from": a, "action": on, "to": b} for a, on, b in edges]
    return {"start": "a", "nodes": nodes, "edges": listed, "on_failure": "fail"}


class Script:
    """Answers in order; an exception among them fails the call."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def __call__(self, given: Any, params: Json) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_result_superseded_by_an_earlier_redo_does_not_come_back() -> None:
    nodes = {
        "a": {**call("a"), "post": {"output_key": "a", "action_key": "go"}},
        "x": call("x"),
        "y": call("y"),
        "z": call("z"),
    }
    ways = [("a", "x", "x"), ("a", "y", "y"), ("x", "default", "z"), ("y", "default", "z")]
    definition = flow(nodes, *ways)
    script = Script({"go": "x"}, 1, "z", {"go": "y"}, 2, "z", 3, "z")
    async with local_engine({"f": script}) as local:
        first = await local.run(definition)
        assert first.shared == {"a": {"go": "x"}, "x": 1, "z": "z"}
        await local.retry(first.run.id, "a", descendants=True)
        second = await local.ended(first.run.id)
        assert second.shared == {"a": {"go": "y"}, "y": 2, "z": "z"}
        await local.retry(first.run.id, "y", descendants=True)
        third = await local.ended(first.run.id)
        assert third.shared == {"a": {"go": "y"}, "y": 3, "z": "z"}, "nobody said x any more"


async def test_the_old_result_of_the_last_task_is_gone_when_it_is_done_again() -> None:
    definition = flow({"a": call("a"), "b": call("b")}, ("a", "default", "b"))
    script = Script(1, 2, ValueError("not again"))
    async with local_engine({"f": script}) as local:
        first = await local.run(definition)
        assert first.shared == {"a": 1, "b": 2}
        await local.retry(first.run.id, "b", descendants=True)
        ended = await local.ended(first.run.id)
        assert ended.state is RunState.FAILED
        assert ended.shared == {"a": 1}


async def test_what_a_fan_out_had_gathered_is_gone_when_one_of_its_items_is_done_again() -> None:
    each = {**call("all"), "kind": "foreach", "prep": {"input_key": "$params.items"}}
    definition = flow({"a": {**each, "failure_strategy": "collect_errors"}})
    seen: list[Any] = []

    def work(given: Any, params: Json) -> Any:
        seen.append(given)
        if len(seen) == 2:
            raise ValueError("the second")
        return given

    async with local_engine({"f": work}) as local:
        first = await local.run(definition, {"items": [1, 2]})
        assert len(first.shared["all"]) == 2
        failed = next(task for task in first.tasks if task.idx == 1)
        await local.retry(first.run.id, failed.id, descendants=True)
        ended = await local.ended(first.run.id)
        assert ended.shared == {"all": [1, 2]}


async def test_signals_stay_whatever_is_done_again() -> None:
    nodes = {
        "a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}},
        "b": call("b"),
    }
    script = Script(1, 2)
    async with local_engine({"f": script}) as local:
        run_id = await local.start(flow(nodes, ("a", "default", "b")))
        await local.waits(run_id)
        await local.signal(run_id, "go", "yes")
        await local.ended(run_id)
        await local.retry(run_id, "b", descendants=True)
        assert (await local.ended(run_id)).shared == {"go": "yes", "b": 2}
