"""An image that cannot be had is left alone: what is to be a pod of it waits, and one is tried."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.unit.engine.test_limits import until
from windlass.engine import runs
from windlass.engine.engine import Settings
from windlass.engine.limits.breaker import state_of
from windlass.engine.limits.changing import set_rule
from windlass.engine.pods import PodAttempts
from windlass.engine.why import why
from windlass.model.limits import KEY_CHARS_MAX, LimitRule, LimitUse, image_key, limit_id
from windlass.model.pods import PodReason, PodSighting, PodStatus
from windlass.model.states import RunState
from windlass.server.metrics import limit_lines
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio
KEY = "default image:busybox:1"


class Kubelet:
    """Launches what waits, and says of each pod what it is told to."""

    def __init__(self, engine: LocalEngine) -> None:
        self._work = PodAttempts(engine.engine)
        self.says = PodReason.IMAGE_PULL_BACK_OFF
        self.made = 0

    async def run(self) -> None:
        while True:
            for given in await self._work.want("k8s", ["pod:default"], 5).assignments():
                self.made += 1
                pod = f"default/p{self.made}"
                await self._work.detach(given.attempt_id, pod)
                ended = self.says is PodReason.COMPLETED
                status = PodStatus.SUCCEEDED if ended else PodStatus.FAILED
                seen = PodSighting(status=status, reason=self.says, pod=pod, uid="u")
                await self._work.observe(given.attempt_id, seen)


@asynccontextmanager
async def launching(**settings: Any) -> AsyncIterator[tuple[LocalEngine, Kubelet]]:
    async with local_engine({}, clock="real", settings=Settings(**settings)) as engine:
        kubelet = Kubelet(engine)
        running = asyncio.ensure_future(kubelet.run())
        yield engine, kubelet
        running.cancel()


async def start(engine: LocalEngine, image: str = "busybox:1") -> str:
    node = {"exec_type": "pod", "pod": {"image": image}}
    return await engine.start({"start": "a", "nodes": {"a": node}})


def use(engine: LocalEngine) -> LimitUse:
    return engine.database.table(LimitUse)[KEY]


def state(engine: LocalEngine) -> str:
    return state_of(use(engine), engine.engine.store.now())


async def break_it(engine: LocalEngine, times: int) -> None:
    for _ in range(times):
        assert (await engine.ended(await start(engine))).state is RunState.FAILED


async def test_an_image_that_cannot_be_had_opens_its_breaker_and_one_trial_closes_it() -> None:
    async with launching(image_trip_after=2, image_reset_s=0.4) as (engine, kubelet):
        await break_it(engine, 2)
        assert state(engine) == "open"
        waiting = [await start(engine) for _ in range(3)]
        await until(engine, lambda: use(engine).parked == 3)
        run = await runs.get_run(engine.engine, waiting[0])
        told = (await why(engine.engine, run)).line
        assert "breaker of image:busybox:1 is open after 2 failures: next try in" in told
        assert f'windlass_breaker_open{{tenant="default",key="{KEY[8:]}"}} 1' in await limit_lines(
            engine.engine
        )
        other = await start(engine, "busybox:2")
        assert (await engine.ended(other)).state is RunState.FAILED, "another image is tried"
        await until(engine, lambda: use(engine).failures == 3)
        assert state(engine) == "open", "the one that was tried opened it again"
        kubelet.says = PodReason.COMPLETED
        ends = [(await engine.ended(one)).state for one in waiting]
        assert sorted(ends) == [RunState.FAILED, RunState.SUCCEEDED, RunState.SUCCEEDED]
        assert state(engine) == "closed"


async def test_only_the_image_counts_and_a_pod_that_ran_speaks_for_it() -> None:
    async with launching(image_trip_after=2, image_reset_s=60) as (engine, kubelet):
        await break_it(engine, 1)
        kubelet.says = PodReason.CONFIG_ERROR
        await break_it(engine, 3)
        assert use(engine).failures == 1
        kubelet.says = PodReason.ERROR
        await break_it(engine, 1)
        assert use(engine).failures == 0


async def test_a_rule_wins_over_the_server_and_without_either_there_is_no_row() -> None:
    async with launching(image_trip_after=0) as (engine, _):
        await break_it(engine, 3)
        assert KEY not in engine.database.table(LimitUse)
        pattern = "image:*"
        id_ = limit_id("default", pattern)
        rule = LimitRule(id=id_, tenant="default", pattern=pattern, trip_after=1, reset_ms=60_000)
        await set_rule(engine.engine, rule)
        await break_it(engine, 1)
        assert state(engine) == "open"


async def test_taking_the_breaker_away_lets_pods_go_on() -> None:
    async with launching(image_trip_after=1, image_reset_s=3_600) as (engine, kubelet):
        await break_it(engine, 1)
        run = await start(engine)
        await until(engine, lambda: use(engine).parked == 1)
        kubelet.says = PodReason.COMPLETED
        id_ = limit_id("default", "image:*")
        rule = LimitRule(id=id_, tenant="default", pattern="image:*", trip_after=0)
        await set_rule(engine.engine, rule)
        assert (await engine.ended(run)).state is RunState.SUCCEEDED


def test_a_long_name_of_an_image_makes_a_key_of_its_own() -> None:
    one, two = (f"registry.example/{'a' * 300}:{tag}" for tag in (1, 2))
    assert image_key(one) != image_key(two)
    assert len(image_key(one)) == KEY_CHARS_MAX
