"""Every definition in the guide to flows runs as its comments say."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from windlass.dialects.flow import read_definition
from windlass.engine import flows, runs
from windlass.engine.engine import Engine
from windlass.model.rows import Checkpoint, Json
from windlass.model.states import RUN_ENDED, RunState
from windlass.ports.store import Cond
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import builtin_functions, running

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "flows.md"
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOTE = re.compile(r"^# (\w+): (.*)$", re.MULTILINE)
CASES = BLOCK.findall(GUIDE.read_text())


def test_the_guide_has_definitions() -> None:
    assert len(CASES) > 10


@pytest.mark.anyio
@pytest.mark.parametrize("text", CASES, ids=range(len(CASES)))
async def test_a_definition_of_the_guide_runs_as_it_says(text: str, tmp_path: Path) -> None:
    notes = {name: json.loads(value) for name, value in NOTE.findall(text)}
    options = ServerOptions(db=f"sqlite:///{tmp_path}/guide.db", no_auth=True)
    async with running(options, builtin_functions(services=True)) as system:
        engine = system.engine
        published = await flows.publish(engine, "guide", read_definition(text, yaml=True))
        started = await runs.start_run(engine, published.target, encoded(notes["params"]))
        for key, value in notes.get("signals", {}).items():
            await runs.signal(engine, started.run.id, key, encoded(value))
        if "answer" in notes:
            await runs.answer(engine, await question(engine), notes["answer"])
        run = await runs.wait_run(engine, started.run.id, 10)
        shared = await runs.shared_of(engine, run.id)
    assert run.state in RUN_ENDED
    assert run.state is RunState.SUCCEEDED, run.error
    assert {key: json.loads(bytes(value)) for key, value in shared.items()} == notes["shared"]


def encoded(value: Any) -> Json:
    return json.dumps(value)


async def question(engine: Engine) -> str:
    """The id of the open checkpoint, once there is one."""
    async with asyncio.timeout(10):
        while True:
            rows = await engine.store.page(Checkpoint, [Cond("state", "=", "open")], limit=1)
            if rows:
                return rows[0].id
            await asyncio.sleep(0.01)
