"""What belongs to a result is in its commit: there if the result counts, and not if it does not."""

import asyncio
from functools import partial

import pytest

from windlass.engine import plans, steering
from windlass.engine.attempts import Attempts
from windlass.engine.keys import Keyed
from windlass.model.errors import StaleLease
from windlass.model.hints import Hint, HintKind
from windlass.model.rows import Artifact, Event, Failure, LogChunk
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

FLOW = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "s", "max_retries": 1}},
    "edges": [],
}


def artifact(attempt_id: str, name: str) -> Artifact:
    run_id = attempt_id.partition("~")[0]
    return Artifact(
        attempt_id=attempt_id,
        resource_id=name,
        run_id=run_id,
        worker_id="w",
        type="file",
        created_at=1,
    )


def chunk(attempt_id: str, text: str) -> LogChunk:
    run_id = attempt_id.partition("~")[0]
    return LogChunk(attempt_id=attempt_id, number=1, run_id=run_id, channel="log", text=text, at=1)


def kept(local: LocalEngine) -> tuple[list[str], list[str]]:
    artifacts = [row.resource_id for row in local.database.table(Artifact).values()]
    return artifacts, [row.text for row in local.database.table(LogChunk).values()]


async def test_a_result_its_artifacts_and_its_last_words_are_one_commit() -> None:
    async with local_engine({}) as local:
        await local.start(FLOW)
        work = Attempts(local.engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        before = local.database.commits
        along = [artifact(given.attempt_id, "made"), chunk(given.attempt_id, "said")]
        assert await work.succeeded(given.attempt_id, "1", along=along) == "accepted"
        assert local.database.commits == before + 1
        assert kept(local) == (["made"], ["said"])
        again = [artifact(given.attempt_id, "twice")]
        assert await work.succeeded(given.attempt_id, "1", along=again) == "duplicate"
        assert kept(local) == (["made"], ["said"])


async def test_a_stale_result_leaves_nothing_behind() -> None:
    async with local_engine({}) as local:
        await local.start(FLOW)
        work = Attempts(local.engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        words = [chunk(given.attempt_id, "it broke")]
        await work.failed(given.attempt_id, Failure("failed", "no"), along=words)
        await work.claim("w", ["pull:s"], 1, 5)
        with pytest.raises(StaleLease):
            await work.succeeded(given.attempt_id, "1", along=[artifact(given.attempt_id, "late")])
        assert kept(local) == ([], ["it broke"])


async def test_what_is_said_many_times_under_one_key_in_one_commit_counts_once() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        started, _ = await plans.start(engine, {"goal": "go", "worker_profile": "nobody"})
        hint = Hint(HintKind.CONTEXT_UPDATE, details={"n": 1})

        async def say(number: int) -> str:
            act = partial(steering.hint, engine, started.run.id, hint)
            return await Keyed(engine, "hint", "once", b"").once(str(number), act)

        assert set(await asyncio.gather(*map(say, range(8)))) == {"0"}
        events = [row.type for row in local.database.table(Event).values()]
        assert events.count("hint.given") == 1
