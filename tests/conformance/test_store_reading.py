"""What every store promises about reading: ranges of keys, pages, conditions, named queries."""

from typing import Any

import pytest

from tests.conformance.conftest import Open
from tests.conformance.rows import OTHER, RUN, a_run, a_task, an_attempt, an_event, change, make
from windlass.model.ids import branch_id, node_path, task_id, uuid7
from windlass.model.rows import (
    Attempt,
    BranchResult,
    Event,
    Flow,
    Row,
    Run,
    Task,
    Timer,
    Variable,
    Version,
    Worker,
)
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.ports.store import Cond, Store

pytestmark = pytest.mark.anyio

NASTY = ["a", "a~b", "a.1", "a/b", "%", "~", "\x7f", "ü", "\U0001f9ed", "a b", "{0}", "'", "_"]


def nasty_tasks(scope: str, path: str) -> list[Task]:
    return [
        a_task(task_id(scope, node_path(path, name), step), node=name, step=step)
        for step, name in enumerate(NASTY, 1)
    ]


async def test_rows_gives_those_that_exist(store: Store) -> None:
    await make(store, a_run(), a_run(OTHER), an_event(1), an_event(2))
    async with store.session() as session:
        assert await session.rows(Run, [OTHER, "absent"]) == [a_run(OTHER)]
        assert await session.rows(Event, [(RUN, 2), (RUN, 3), (OTHER, 1)]) == [an_event(2)]
        assert await session.rows(Run, []) == []


async def test_open_tasks_are_found_below_a_scope_at_any_depth(store: Store) -> None:
    subflow = a_task(task_id(RUN, "sub", 1), state=TaskState.RUNNING, kind="subflow")
    inner = a_task(task_id(subflow.id, "sub/inner", 1), state=TaskState.RUNNING, kind="subflow")
    fan = a_task(task_id(inner.id, "sub/inner/fan", 1), state=TaskState.RUNNING, kind="parallel")
    branches = [a_task(branch_id(fan.id, i), idx=i) for i in range(12)]
    ended = a_task(task_id(inner.id, "sub/inner/done", 2), state=TaskState.SUCCEEDED)
    elsewhere = a_task(task_id(OTHER, "sub", 1))
    sibling = a_task(task_id(RUN, "sub", 10))
    rows: list[Row] = [subflow, inner, fan, *branches, ended, elsewhere, sibling]
    await make(store, *rows)

    async def found(*scopes: str) -> set[str]:
        async with store.session() as session:
            return {task.id for task in await session.open_tasks(scopes)}

    below_fan = {task.id for task in branches}
    assert await found(fan.id) == below_fan
    assert await found(inner.id) == below_fan | {fan.id}
    assert await found(subflow.id) == below_fan | {fan.id, inner.id}
    assert await found(RUN) == below_fan | {fan.id, inner.id, subflow.id, sibling.id}
    assert await found(fan.id, OTHER) == below_fan | {elsewhere.id}
    assert await found("absent") == set()


async def test_no_node_name_leads_out_of_its_scope(store: Store) -> None:
    scopes = {task.id: task for task in nasty_tasks(RUN, "")}
    await make(store, *scopes.values(), *nasty_tasks(OTHER, ""))
    inside = {scope: nasty_tasks(scope, "p") for scope in scopes}
    await make(store, *(task for tasks in inside.values() for task in tasks))
    async with store.session() as session:
        for scope, tasks in inside.items():
            found = await session.open_tasks([scope])
            assert {task.id for task in found} == {task.id for task in tasks}
        assert len(await session.open_tasks([RUN])) == len(NASTY) * (len(NASTY) + 1)


async def test_the_tasks_of_a_run_come_in_the_order_they_were_made(store: Store) -> None:
    order = [(3, "c"), (1, "z"), (2, "b"), (2, "a")]
    await make(store, *(a_task(task_id(RUN, name, 1), made_seq=seq) for seq, name in order))
    await make(store, a_task(task_id(OTHER, "x", 1)))
    async with store.session() as session:
        found = await session.run_tasks(RUN)
    assert [task.id for task in found] == [f"{RUN}~{name}.1" for name in "zabc"]


async def test_waiting_tasks_are_found_by_key(store: Store) -> None:
    waiting = a_task(f"{RUN}~w.1", state=TaskState.WAITING, wait_key="paid 💰")
    await make(
        store,
        waiting,
        a_task(f"{RUN}~x.2", state=TaskState.WAITING, wait_key="other"),
        a_task(f"{OTHER}~w.1", state=TaskState.WAITING, wait_key="paid 💰"),
    )
    async with store.session() as session:
        assert await session.waiting_tasks(RUN, "paid 💰") == [waiting]
        assert await session.waiting_tasks(RUN, "") == []


async def test_branches_come_by_index_without_what_is_inside_others(store: Store) -> None:
    fan = f"{RUN}~fan.1"
    branches = [
        a_task(branch_id(fan, i), idx=i, state=TaskState.SUCCEEDED, output=str(i), error=None)
        for i in range(12)
    ]
    await make(store, *branches, a_task(branch_id(f"{RUN}~fan.11", 0), idx=0))
    async with store.session() as session:
        found = await session.ended_branches(fan)
    assert found == [BranchResult(i, TaskState.SUCCEEDED, str(i), None) for i in range(12)]


async def test_variables_and_signals(store: Store) -> None:
    mine = [Variable(scope=RUN, key=k, run_id=RUN, value="1", seq=1) for k in ("b", "a", "ü")]
    inner = Variable(scope=f"{RUN}~s.1", key="a", run_id=RUN, value="2", seq=1)
    signals = [an_event(12, "signal.received"), an_event(2, "signal.received")]
    await make(store, *mine, inner, *signals, an_event(3), an_event(4, "signal.received", OTHER))
    async with store.session() as session:
        assert [row.key for row in await session.variables([RUN])] == ["a", "b", "ü"]
        assert await session.variables([f"{RUN}~s.1"]) == [inner]
        assert [event.seq for event in await session.signals(RUN)] == [2, 12]


async def test_reads_see_committed_rows_only(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    await make(one, a_run())
    async with one.session() as session:
        await change(two, a_run(seq=1))
        assert (await session.rows(Run, [RUN]))[0].seq == 1


FLOWS = [
    Flow(id="1", name="alpha", created_at=30),
    Flow(id="2", name="al%ha", created_at=10),
    Flow(id="3", name="beta_x", created_at=20),
    Flow(id="4", name="betaXx", created_at=40),
    Flow(id="5", name="übung 🧭", created_at=50),
]


@pytest.mark.parametrize(
    ("cond", "ids"),
    [
        (Cond("name", "=", "alpha"), "1"),
        (Cond("name", "!=", "alpha"), "2345"),
        (Cond("created_at", "<", 20), "2"),
        (Cond("created_at", "<=", 20), "23"),
        (Cond("created_at", ">", 30), "45"),
        (Cond("created_at", ">=", 30), "145"),
        (Cond("id", "in", ["5", "1", "9"]), "15"),
        (Cond("id", "in", []), ""),
        (Cond("created_at", "in", [10, 40]), "24"),
        (Cond("name", "like", "al%"), "12"),
        (Cond("name", "like", "al\\%%"), "2"),
        (Cond("name", "like", "beta_x"), "34"),
        (Cond("name", "like", "beta\\_x"), "3"),
        (Cond("name", "like", "%🧭"), "5"),
        (Cond("name", "like", "AL%"), ""),
        (Cond("name", "=", "' or 1 = 1 --"), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.column} {value.op}",
)
async def test_every_condition_of_a_listing(store: Store, cond: Cond, ids: str) -> None:
    await make(store, *FLOWS)
    assert "".join(flow.id for flow in await store.page(Flow, [cond])) == ids
    assert await store.count(Flow, [cond]) == len(ids)


async def test_null_and_not_null(store: Store) -> None:
    ended = a_run(OTHER, state=RunState.SUCCEEDED, finished_at=5)
    await make(store, a_run(), ended)
    assert await store.page(Run, [Cond("finished_at", "null")]) == [a_run()]
    assert await store.page(Run, [Cond("finished_at", "not null")]) == [ended]
    assert await store.page(Run, [Cond("finished_at", "<", 9)]) == [ended]


async def test_a_cursor_walks_all_pages_either_way(store: Store) -> None:
    flows = [Flow(id=f"{n:03}", name="f", created_at=n % 7) for n in range(25)]
    await make(store, *flows)
    for descending in (False, True):
        seen: list[str] = []
        where: list[Cond] = []
        while page := await store.page(Flow, where, descending=descending, limit=4):
            seen += [flow.id for flow in page]
            where = [Cond("id", "<" if descending else ">", page[-1].id)]
        assert seen == sorted((flow.id for flow in flows), reverse=descending)


async def test_a_page_is_ordered_by_its_column_and_bytewise_for_ids(store: Store) -> None:
    await make(store, *FLOWS)
    by_time = await store.page(Flow, order="created_at", descending=True, limit=2)
    assert [flow.id for flow in by_time] == ["5", "4"]
    further = await store.page(Flow, order="created_at", descending=True, limit=2, offset=2)
    assert [flow.id for flow in further] == ["1", "3"]
    ids = ["a~b.1", "a.1", "A", "ü", "a\x7f", "\U0001f9ed", "a"]
    await make(store, *(Timer(id=i, run_id="r", task_id="t", kind="k", due_at=1) for i in ids))
    assert [timer.id for timer in await store.page(Timer)] == sorted(ids)


async def test_named_queries(store: Store) -> None:
    await make(
        store,
        a_run(),
        a_run(OTHER, state=RunState.FAILED, finished_at=1),
        a_task(f"{RUN}~a.1", queue="pull:q", ready_at=7),
        a_task(f"{RUN}~b.2", queue="pull:q", ready_at=5),
        a_task(f"{RUN}~c.3", queue="pull:q", ready_at=1, state=TaskState.RUNNING),
        an_attempt(f"{RUN}~c.3", lease_until=50),
        an_attempt(f"{RUN}~d.4", lease_until=40, state=AttemptState.RUNNING),
        an_attempt(f"{RUN}~e.5", lease_until=10, state=AttemptState.LOST),
        Timer(id="x!k", run_id=RUN, task_id="x", kind="k", due_at=33),
        Timer(id="y!k", run_id=RUN, task_id="y", kind="k", due_at=22),
        *(Version(id=f"v{n}", flow_id="f", number=n, source="{}", created_at=1) for n in (1, 3)),
    )
    runs = await store.query("count_runs", tenant="*")
    assert {row["state"]: row["n"] for row in runs} == {"running": 1, "failed": 1}
    assert await store.query("count_queues") == [{"queue": "pull:q", "n": 2, "oldest": 5}]
    assert await store.query("count_held", tenant="*") == [{"worker_id": "w", "n": 2}]
    assert await store.query("next_due", now=0) == [{"due_at": 22}]
    assert await store.query("flow_versions", flow_ids=["f", "g"]) == [
        {"flow_id": "f", "n": 2, "latest": 3}
    ]
    assert await store.query("version_numbers", ids=["v3", "v9"]) == [{"id": "v3", "number": 3}]
    expired = await store.query("expired_leases", now=45, count_max=10, passed_over=0)
    assert expired == [{"id": f"{RUN}~d.4@1", "lease_until": 40}]
    assert await store.query("stopping", count_max=5) == []
    assert len(await store.query("expired_leases", now=99, count_max=1, passed_over=0)) == 1


async def test_shared_keys_come_with_how_far_their_run_had_come(store: Store) -> None:
    keys = ["b", "ü", "B", "\U0001f9ed", "a"]
    await make(
        store,
        a_run(seq=3),
        a_run(OTHER, seq=5),
        *(Variable(scope=RUN, key=key, value=f'"{key}"', run_id=RUN, seq=1) for key in keys),
        Variable(scope=f"{RUN}~s.1", key="inner", value="1", run_id=RUN, seq=1),
    )
    rows = await store.query("shared_at", run_id=RUN)
    assert rows == [{"seq": 3, "key": key, "value": f'"{key}"'} for key in sorted(keys)]
    assert await store.query("shared_at", run_id=OTHER) == [{"seq": 5, "key": None, "value": None}]
    assert await store.query("shared_at", run_id="none") == []


async def test_attempts_that_are_pods_have_no_lease_and_are_found_by_their_pod(
    store: Store,
) -> None:
    await make(
        store,
        an_attempt(f"{RUN}~c.3", lease_until=50, external_ref="ns/a"),
        an_attempt(f"{RUN}~d.4", lease_until=40, external_ref="ns/b/u"),
        an_attempt(f"{RUN}~e.5", lease_until=10, state=AttemptState.LOST, external_ref="ns/c"),
        an_attempt(f"{RUN}~f.6", lease_until=60),
    )
    expired = await store.query("expired_leases", now=99, count_max=9, passed_over=0)
    assert [row["id"] for row in expired] == [f"{RUN}~f.6@1"]
    live = await store.query("detached_attempts", after="", count_max=9)
    assert [row["external_ref"] for row in live] == ["ns/a", "ns/b/u"]
    rest = await store.query("detached_attempts", after=live[0]["id"], count_max=1)
    assert rest == [{**live[1], "state": "claimed", "cancel_at": None}]
    named = await store.query("attempts_of_pod", refs=["ns/c", "ns/c/u", "ns/b"])
    assert [row["id"] for row in named] == [f"{RUN}~e.5@1"]


async def test_pods_are_listed_by_state_tenant_namespace_and_names(store: Store) -> None:
    await make(
        store,
        a_run(),
        a_run(OTHER, tenant="blue", flow_name="Nightly_Report"),
        a_task(f"{RUN}~c.3", node="count"),
        a_task(f"{RUN}~d.4", node="draw"),
        a_task(f"{RUN}~e.5", node="count"),
        a_task(f"{OTHER}~f.1", node="load"),
        an_attempt(f"{RUN}~c.3", external_ref="ns/a"),
        an_attempt(f"{RUN}~d.4", external_ref="ns_b/b/u"),
        an_attempt(f"{RUN}~e.5", state=AttemptState.FAILED, external_ref="ns/c"),
        an_attempt(f"{OTHER}~f.1", state=AttemptState.RUNNING, external_ref="nsxb/f"),
        an_attempt(f"{RUN}~e.5", number=2),
    )
    plain = {"state": "", "namespace": "", "pattern": "", "before": "z", "count_max": 9}

    async def found(query: str = "live_pods", tenant: str = "*", **asked: Any) -> list[str]:
        rows = await store.query(query, **{**plain, **asked, "tenant": tenant})
        return [row["id"] for row in rows]

    count, draw, failed, load = (
        f"{RUN}~c.3@1",
        f"{RUN}~d.4@1",
        f"{RUN}~e.5@1",
        f"{OTHER}~f.1@1",
    )
    live = sorted([count, draw, load], reverse=True)
    assert await found() == live
    assert await found(before=live[0], count_max=1) == live[1:2]
    assert await found("ended_pods") == await found("ended_pods", state="failed") == [failed]
    assert await found("ended_pods", state="lost") == []
    assert await found(state="running") == [load]
    assert await found(tenant="blue") == [load]
    assert await found(namespace="ns\\_b/%") == [draw]
    assert await found(pattern="%nightly\\_r%") == [load]
    assert await found(pattern="%draw%") == [draw]
    assert await found("ended_pods", pattern="%ns/c%") == [failed]
    assert await found(pattern=f"%{OTHER[-6:]}%") == [load]


async def test_the_target_of_a_run_is_found_by_id_or_newest_name(store: Store) -> None:
    flows = [("f1", "a"), ("f2", "a"), ("f3", "f1"), ("f4", "none")]
    versions = [("f1", 1, "published"), ("f2", 1, "published"), ("f2", 2, "published")]
    versions += [("f2", 3, "draft"), ("f3", 1, "published")]
    await make(
        store,
        *(Flow(id=flow, name=name, created_at=1) for flow, name in flows),
        *(
            Version(
                id=f"{flow}v{number}",
                flow_id=flow,
                number=number,
                source="{}",
                status=status,
                created_at=1,
            )
            for flow, number, status in versions
        ),
    )

    async def target(flow: str, number: int = 0) -> list[str]:
        rows = await store.query("find_target", flow=flow, number=number, tenant="*")
        return [row["version_id"] for row in rows]

    assert await target("a") == ["f2v2"]
    assert await target("a", 3) == ["f2v3"]
    assert await target("f1") == ["f1v1"], "an id wins over a name"
    assert await target("none") == await target("absent") == await target("a", 9) == []


async def test_tasks_without_a_worker_are_found_by_queue_time_and_dialect(store: Store) -> None:
    await make(
        store,
        a_run(dialect="pocketflow"),
        a_run(OTHER, dialect="flow"),
        a_task(f"{RUN}~a.1", queue="push:q", ready_at=7),
        a_task(f"{RUN}~b.2", queue="push:q", ready_at=5),
        a_task(f"{RUN}~c.3", queue="push:q", ready_at=9),
        a_task(f"{RUN}~d.4", queue="push:other", ready_at=1),
        a_task(f"{RUN}~e.5", queue="push:q", ready_at=1, state=TaskState.RUNNING),
        a_task(f"{OTHER}~a.1", queue="push:q", ready_at=1),
    )

    async def found(count_max: int) -> list[str]:
        rows = await store.query(
            "unserved_tasks",
            queues=["push:q", "push:none"],
            before=7,
            dialect="pocketflow",
            count_max=count_max,
        )
        return [row["id"] for row in rows]

    assert await found(10) == [f"{RUN}~b.2", f"{RUN}~a.1"]
    assert await found(1) == [f"{RUN}~b.2"]


async def test_queries_on_an_empty_database(store: Store) -> None:
    assert await store.query("next_due", now=0) == [{"due_at": None}]
    assert await store.query("count_runs", tenant="*") == await store.query("count_queues") == []


async def test_a_page_of_several_states_is_one_list_in_order(store: Store) -> None:
    states = [RunState.RUNNING, RunState.WAITING, RunState.QUEUED]
    made = [a_run(f"r{number:02}", state=states[number % 3]) for number in range(12)]
    await make(store, *made)
    where = [Cond("state", "in", ("running", "queued")), Cond("id", "<", "r11")]
    page = await store.page(Run, where, descending=True, limit=3, offset=1)
    assert [row.id for row in page] == ["r08", "r06", "r05"]
    assert await store.page(Run, [Cond("state", "in", ("failed",))], limit=5) == []


async def test_a_state_asked_for_twice_is_listed_once_and_no_state_lists_nothing(
    store: Store,
) -> None:
    await make(store, a_run(), a_run(OTHER))
    twice = [Cond("state", "in", ("running", "running"))]
    assert [run.id for run in await store.page(Run, twice)] == sorted([RUN, OTHER])
    assert await store.page(Run, [Cond("state", "in", ())]) == []


async def test_what_was_passed_over_is_not_read_again(store: Store) -> None:
    await make(store, *(an_attempt(f"{RUN}~a.{n}", lease_until=n) for n in range(1, 4)))
    found = await store.query("expired_leases", now=9, count_max=5, passed_over=2)
    assert [row["lease_until"] for row in found] == [3]
    assert await store.query("next_due", now=9) == [{"due_at": None}]


async def test_payloads_are_left_out_where_nobody_looks_at_them(store: Store) -> None:
    task = f"{RUN}~a.1"
    await make(
        store,
        a_run(params='{"n": 1}', tags='{"t": 1}'),
        a_task(task, input="[1]", output="[2]", error="{}"),
        an_attempt(task, output="[3]", log="said"),
        Version(id="v", flow_id="f", number=1, source='{"a": 1}', locked="{}", created_at=1),
    )
    [run] = await store.page(Run, [Cond("state", "in", ("running",))], heavy=False)
    assert (run.id, run.params, run.tags) == (RUN, "{}", '{"t": 1}')
    [row] = await store.page(Task, heavy=False)
    assert (row.id, row.input, row.output, row.error) == (task, None, None, "{}")
    [attempt] = await store.page(Attempt, heavy=False)
    assert (attempt.output, attempt.log, attempt.worker_id) == (None, None, "w")
    [version] = await store.page(Version, heavy=False)
    assert (version.number, version.source, version.locked) == (1, "{}", None)


async def test_parameters_are_read_as_far_as_asked(store: Store) -> None:
    await make(store, a_run(params='{"goal":"取ü"}'), a_run(OTHER, params='{"n":1}'))
    found = await store.query("params_begin", ids=[RUN], chars_max=10)
    assert found == [{"id": RUN, "beginning": '{"goal":"取'}]


async def test_rows_made_in_the_same_moment_come_by_id(store: Store) -> None:
    made = [(number % 3, f"f{number:02}") for number in range(9)]
    await make(store, *(Flow(id=id_, name="n", created_at=at) for at, id_ in made))
    for descending in (False, True):
        found = await store.page(Flow, order="created_at", descending=descending)
        assert [(flow.created_at, flow.id) for flow in found] == sorted(made, reverse=descending)


@pytest.mark.parametrize("what", ["a worker that was heard of", "a run that began"])
async def test_a_process_that_begins_after_the_clock_was_set_back_goes_on_from_what_was_written(
    open_store: Open, what: str
) -> None:
    before = await open_store()
    then = before.now() + 3_600_000
    worker = Worker(id="w", registered_at=then, seen_at=then)
    run = a_run(uuid7(then, 0), created_at=then)
    await make(before, worker if "worker" in what else run)
    after = await open_store()
    assert then <= after.now() < then + 60_000
