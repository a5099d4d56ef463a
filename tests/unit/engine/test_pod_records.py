"""What pods waited for is kept, and told by whoever reads the database."""

import pytest

from windlass.engine.engine import Engine
from windlass.engine.pod_records import PodSeen, PodWaits, seen_of
from windlass.model.pod_records import REASONS_MAX, PodRecord
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio
A, B = "r~a.1@1", "r~b.1@1"


def no_room(message: str) -> Reason:
    return Reason(ReasonCode.POD_UNSCHEDULED, ReasonValues(message=message))


async def kept(engine: Engine, attempt: str) -> list[str]:
    seen = (await seen_of(engine, [attempt])).get(attempt, PodSeen())
    return [wait.reason.values.message for wait in seen.waits]


def records(local: LocalEngine) -> int:
    return len(local.database.table(PodRecord))


async def test_each_reason_is_kept_once_in_order_and_the_last_is_what_it_waits_for() -> None:
    async with local_engine({}) as local:
        waits = PodWaits(local.engine)
        for message in ("full", "full", "fuller", "full"):
            await waits.note({A: no_room(message)})
        assert await kept(local.engine, A) == ["full", "fuller", "full"]
        seen = (await seen_of(local.engine, [A]))[A]
        assert seen.waits_for == no_room("full")
        assert await kept(local.engine, B) == []


async def test_a_server_that_comes_later_goes_on_where_the_first_left_off() -> None:
    async with local_engine({}) as local:
        await PodWaits(local.engine).note({A: no_room("full"), B: no_room("full")})
        later = PodWaits(local.engine)
        before = (await seen_of(local.engine, [A]))[A]
        await later.note({A: no_room("full"), B: no_room("else")})
        assert (await seen_of(local.engine, [A]))[A] == before
        assert await kept(local.engine, B) == ["full", "else"]
        assert records(local) == 2


async def test_what_does_not_change_is_not_written_again() -> None:
    async with local_engine({}) as local:
        waits = PodWaits(local.engine)
        await waits.note({A: no_room("full")})
        passes = local.engine.advance.passes
        for _ in range(5):
            await waits.note({A: no_room("full")})
        assert local.engine.advance.passes == passes


async def test_of_one_pod_the_last_reasons_are_kept() -> None:
    async with local_engine({}) as local:
        waits = PodWaits(local.engine)
        for n in range(REASONS_MAX + 7):
            await waits.note({A: no_room(str(n))})
        found = await kept(local.engine, A)
        assert found == [str(n) for n in range(7, REASONS_MAX + 7)]
