"""Who gets a task: the worker with the most room, least loaded, and not the one it failed on."""

import asyncio

from msgspec.structs import replace

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


def test_only_queues_that_may_hold_tasks_are_looked_into() -> None:
    async def main() -> None:
        demands = Demands()
        demands.add(Demand("w", ["pull:a", "link@w:p@1:b", "pull:c"], 2, 1000))
        wants = demands.backlog(10, ())
        assert list(wants) == ["link@w:p@1:b", "pull:a", "pull:c"], "its own first"
        demands.looked(wants, ())
        assert not demands.can_claim
        demands.filled(["pull:c", "pull:a", "pull:z"])
        assert demands.backlog(10, ()) == {"pull:c": 2, "pull:a": 2}
        demands.looked({"pull:c": 1}, [replace(task(), queue="pull:c")])
        assert list(demands.backlog(10, ())) == ["pull:a", "pull:c"], "each in its turn"
        demands.anything()
        assert len(demands.backlog(10, ())) == 3

    asyncio.run(main())


def test_what_could_not_be_claimed_is_tried_again_at_the_next_look_at_everything() -> None:
    async def main() -> None:
        demands = Demands()
        demands.add(Demand("w", ["push:s"], 1, 1000))
        demands.skip_until_next_look(task())
        assert demands.match([task()]).pairs == []
        demands.anything()
        assert len(demands.match([task()]).pairs) == 1

    asyncio.run(main())
