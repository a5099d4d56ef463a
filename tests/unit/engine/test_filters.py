"""Filters over runs: what they find."""

import pytest

from windlass.engine import flows, runs
from windlass.engine.filters import run_conditions
from windlass.model.rows import Run
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio

TAGS = [
    '{"env":"prod","team":"a_b"}',
    '{"env":"pro"}',
    '{"note":"\\"env\\":\\"prod\\"","team":"aXb"}',
    '{"äh":"50%"}',
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tag:env=prod", [0]),
        ("tag:env=pro*", [0, 1]),
        ("tag:env", [0, 1]),
        ("tag:team=a_b", [0]),
        ("tag:äh=50%", [3]),
        ("tag:env=prod tag:team=a*", [0]),
        ("tag:prod", []),
    ],
)
async def test_runs_are_found_by_their_tags(text: str, found: list[int]) -> None:
    async with local_engine({}) as local:
        engine = local.engine
        node = {"kind": "wait_event", "params": {"signal_key": "$shared.x"}}
        published = await flows.publish(engine, "f", {"start": "a", "nodes": {"a": node}})
        made = [(await runs.start_run(engine, published.target, tags=tags)).run.id for tags in TAGS]
        rows = await engine.store.page(Run, run_conditions(text, 0), limit=10)
    assert sorted(made.index(row.id) for row in rows) == found
