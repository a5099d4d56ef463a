"""Fair shares: by weight, in each tenant's own order, and nothing for who was away."""

from collections import Counter

from windlass.engine.shares import Shares
from windlass.model.queues import tenant_queue
from windlass.model.rows import Task
from windlass.model.states import TaskState


def task(tenant: str, number: int) -> Task:
    return Task(
        id=f"{tenant}~a.{number}",
        run_id=tenant,
        scope=tenant,
        node="a",
        kind="call",
        state=TaskState.QUEUED,
        queue=tenant_queue("pull:s", tenant),
        created_at=0,
    )


def tasks(**counts: int) -> list[Task]:
    return [task(tenant, n) for tenant, count in counts.items() for n in range(count)]


def serve(shares: Shares, waiting: list[Task], slots: int) -> list[str]:
    """Who gets the free slots, by tenant."""
    served = list(shares.in_turn(waiting))[:slots]
    for one in served:
        shares.served(one)
    return [one.run_id for one in served]


def test_tenants_are_served_by_their_weights() -> None:
    shares = Shares()
    shares.weigh({"big": 3, "small": 1})
    served = Counter(serve(shares, tasks(big=100, small=100), 40))
    assert served == {"big": 30, "small": 10}


def test_so_they_are_over_many_passes_with_a_slot_each() -> None:
    shares = Shares()
    shares.weigh({"big": 3, "small": 1})
    served: Counter[str] = Counter()
    for _ in range(40):
        served.update(serve(shares, tasks(big=100, small=100), 1))
    assert served == {"big": 30, "small": 10}


def test_each_tenant_s_tasks_keep_their_order() -> None:
    shares = Shares()
    shares.weigh({"a": 1, "b": 2})
    ordered = [one.id for one in shares.in_turn(tasks(a=5, b=5))]
    for tenant in "ab":
        mine = [id_ for id_ in ordered if id_.startswith(tenant)]
        assert mine == sorted(mine)


def test_who_was_away_gets_its_share_from_now_on_and_no_more() -> None:
    shares = Shares()
    shares.weigh({"a": 1, "b": 1})
    serve(shares, tasks(a=100), 50)
    served = serve(shares, tasks(a=100, b=100), 20)
    assert Counter(served) == {"a": 10, "b": 10}


def test_a_small_tenant_is_next_however_much_another_has_waiting() -> None:
    shares = Shares()
    shares.weigh({"noisy": 1, "small": 1})
    serve(shares, tasks(noisy=1000), 500)
    assert "small" in serve(shares, tasks(noisy=1000, small=1), 2)


def test_queues_of_those_whose_turn_it_is_are_looked_into_first() -> None:
    shares = Shares()
    shares.weigh({"default": 1, "a": 1})
    shares.served(task("default", 1))
    assert shares.order(["pull:s", "pull+a:s"]) == ["pull+a:s", "pull:s"]
