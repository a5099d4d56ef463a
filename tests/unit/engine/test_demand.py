"""Who gets a task: the worker with the most room, least loaded, and not the one it failed on."""

import asyncio

from windlass.engine.demand import Demand, Demands
from windlass.model.rows import Task
from windlass.model.states import TaskState


def task(avoid: str | None = None) -> Task:
    return Task(
        id="r~a.1",
        run_id="r",
        scope="r",
        node="a",
        kind="call",
        state=TaskState.QUEUED,
        queue="push:s",
        avoid=avoid,
        created_at=0,
    )


def choose(*workers: tuple[str, int, int], avoid: str | None = None) -> str:
    """The worker chosen among (id, slots, load)."""

    async def main() -> str:
        demands = Demands()
        for name, slots, load in workers:
            demands.add(Demand(name, ["push:s"], slots, 1000, load=load))
        return demands.match([task(avoid)]).pairs[0][0].worker_id

    return asyncio.run(main())


def test_the_worker_with_most_room_gets_it() -> None:
    assert choose(("a", 2, 0), ("b", 5, 0)) == "b"


def test_a_loaded_worker_gives_way() -> None:
    assert choose(("a", 5, 4), ("b", 3, 0)) == "b"


def test_the_worker_it_failed_on_is_the_last_choice_but_a_choice() -> None:
    assert choose(("a", 9, 0), ("b", 1, 0), avoid="a") == "b"
    assert choose(("a", 9, 0), avoid="a") == "a"
