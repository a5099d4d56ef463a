"""Whoever is told of a commit cannot undo it."""

from typing import Any

import pytest

from windlass.model.states import RunState
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_a_listener_that_fails_neither_repeats_nor_refuses_what_was_committed() -> None:
    told: list[Any] = []

    def broken(writes: Any) -> None:
        told.append(writes)
        raise KeyError("ours")

    definition = {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []}
    async with local_engine({}) as local:
        local.engine.advance.listeners.append(broken)
        run_id = await local.start(definition)
        asks = await local.waits(run_id)
        assert asks.state is RunState.WAITING
        passes = local.engine.advance.passes
        await local.answer(run_id, {"approved": True})
        assert local.engine.advance.passes == passes + 1
    assert told
