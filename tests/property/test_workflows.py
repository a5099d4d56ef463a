"""Any graph of ports: every node begins once, after all before it, or is skipped; data arrives."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workflows import container, edge, node, port, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow, outline, resolve
from windlass.dialects.workflow.nodes import NODE_FIELDS
from windlass.dialects.workflow.packages import Found
from windlass.kernel.events import RetryRequested
from windlass.model.errors import DefinitionError
from windlass.model.graph import Graph, Kind
from windlass.model.rows import Task
from windlass.model.states import TASK_ENDED, RunState, TaskState
from windlass.testing.played import Played

# Random graphs


@st.composite
def edges_of(draw: st.DrawFn, count: int) -> list[tuple[int, int]]:
    """Edges from lower to higher numbers, some of them twice."""
    pairs = [(low, high) for high in range(count) for low in range(high)]
    if not pairs:
        return []
    return draw(st.lists(st.sampled_from(pairs), max_size=2 * count))


def name(number: int) -> str:
    return f"n{number}"


def one_port(number: int) -> dict[str, Any]:
    """A node with an input port for each node before it, so that nothing is overwritten."""
    ins = [port(f"from{low}", f"parameters.got.{low}") for low in range(number)]
    return node(name(number), ui={"inputPorts": ins, "outputPorts": [port("out", "results.y")]})


def graph_of(count: int, edges: list[tuple[int, int]], conditions: set[int]) -> dict[str, Any]:
    """A workflow of numbered nodes; edges whose index is a condition fire if `results.go` is."""
    wires = []
    for at, (low, high) in enumerate(edges):
        more: dict[str, Any] = {"id": f"e{at}"}
        if at in conditions:
            more["condition"] = "results.go"
        wires.append(edge(name(low), name(high), f"out>from{low}", **more))
    return workflow([one_port(number) for number in range(count)], wires)


@st.composite
def plays(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 8))
    edges = draw(edges_of(count))
    conditions = draw(st.sets(st.sampled_from(range(len(edges))))) if edges else set()
    return {
        "count": count,
        "edges": edges,
        "conditions": conditions,
        "skips": draw(st.sets(st.integers(0, count - 1), max_size=2)),
        "goes": draw(st.sets(st.integers(0, count - 1))),
        "order": draw(st.randoms(use_true_random=False)),
    }


def expected(play: dict[str, Any]) -> tuple[dict[int, str], list[bool]]:
    """By the rules alone: how each node ends and which edges fire."""
    states: dict[int, str] = {}
    fired = [False] * len(play["edges"])
    for number in range(play["count"]):
        incoming = [at for at, (_, high) in enumerate(play["edges"]) if high == number]
        begins = not incoming or any(fired[at] for at in incoming)
        done = begins and number not in play["skips"]
        states[number] = "succeeded" if done else "skipped"
        for at, (low, _) in enumerate(play["edges"]):
            if low == number and done:
                fired[at] = at not in play["conditions"] or number in play["goes"]
    return states, fired


@given(plays())
@settings(max_examples=300)
def test_every_node_begins_once_after_all_before_it_or_is_skipped(play: dict[str, Any]) -> None:
    run = Played(compile_workflow(graph_of(play["count"], play["edges"], play["conditions"])))
    begun: list[int] = []
    numbers = {uid(name(number)): number for number in range(play["count"])}
    while queued := run.queued():
        task = play["order"].choice(queued)
        number = numbers[task.node]
        begun.append(number)
        check_before(run, play, number)
        result = {"y": number, "go": number in play["goes"]}
        run.succeed(task.id, result, skipped=number in play["skips"])
    states, fired = expected(play)
    assert run.state() is RunState.SUCCEEDED
    assert {numbers[path]: state for path, state in run.states().items()} == states
    assert max(Counter(begun).values()) == 1
    assert len(run.tasks()) == play["count"]
    check_arrived(run, play, numbers, fired)
    assert (run.row().open, run.row().active) == (0, 0)


def check_before(run: Played, play: dict[str, Any], number: int) -> None:
    for low, high in play["edges"]:
        if high == number:
            assert run.one(uid(name(low))).state in TASK_ENDED


def check_arrived(
    run: Played, play: dict[str, Any], numbers: dict[str, int], fired: list[bool]
) -> None:
    for task in run.tasks():
        if not task.attempts:
            continue
        wanted = {
            str(low): low
            for at, (low, high) in enumerate(play["edges"])
            if high == numbers[task.node] and fired[at]
        }
        got = json.loads(task.input or "{}").get("got", {})
        assert got == wanted


@given(plays(), st.data())
@settings(max_examples=150)
def test_a_failed_workflow_that_is_retried_ends_as_if_nothing_had_happened(
    play: dict[str, Any], data: st.DataObject
) -> None:
    run = Played(compile_workflow(graph_of(play["count"], play["edges"], play["conditions"])))
    numbers = {uid(name(number)): number for number in range(play["count"])}
    failures = data.draw(st.integers(0, 3))
    while run.queued() or run.state() is RunState.FAILED:
        if run.state() is RunState.FAILED:
            run.send(RetryRequested(run.row().id))
            continue
        task = play["order"].choice(run.queued())
        number = numbers[task.node]
        if failures and play["order"].random() < 0.3:
            failures -= 1
            run.fail(task.id)
            continue
        result = {"y": number, "go": number in play["goes"]}
        run.succeed(task.id, result, skipped=number in play["skips"])
    states, fired = expected(play)
    assert run.state() is RunState.SUCCEEDED
    assert {numbers[path]: state for path, state in run.states().items()} == states
    check_arrived(run, play, numbers, fired)
    assert (run.row().open, run.row().active) == (0, 0)


# Containers


@st.composite
def nests(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Chains of nodes and containers, each level inside one container of the level above."""
    depth = draw(st.integers(1, 4))
    graphs: list[Any] = []
    calls = 0
    for level in range(depth, -1, -1):
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        if level == depth:
            before = max(1, before)
        names = [f"l{level}b{at}" for at in range(before)]
        nodes = [node(each) for each in names]
        if level < depth:
            loop = draw(st.booleans())
            inside = {"loop": {"enabled": loop, "maxIterations": 1}}
            ui = {
                "inputPorts": [port("in", "parameters.x")],
                "outputPorts": [port("out", "results.y")],
            }
            nodes.append(container(f"box{level}", f"g{level + 1}", ui=ui, inside=inside))
            names.append(f"box{level}")
        late = [f"l{level}a{at}" for at in range(after)]
        nodes += [node(each) for each in late]
        names += late
        calls += before + after
        edges = [edge(low, high) for low, high in pairwise(names)]
        if level:
            graphs.append(subgraph(f"g{level}", nodes, edges))
        else:
            return workflow(nodes, edges, subgraphs=graphs), calls
    raise AssertionError("unreachable")


@given(nests())
@settings(max_examples=150)
def test_a_value_passes_through_any_nest_of_containers(nest: tuple[dict[str, Any], int]) -> None:
    definition, calls = nest
    run = Played(compile_workflow(definition))
    last: Any = None
    for count in range(calls):
        [task] = run.queued()
        value = json.loads(task.input or "{}")
        assert value == ({} if count == 0 else {"x": last})
        last = count
        run.succeed(task.id, {"y": count})
    assert run.state() is RunState.SUCCEEDED
    assert all(task.state is TaskState.SUCCEEDED and not task.open for task in run.tasks())


# Middlewares


@given(st.integers(1, 3), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_however_middlewares_call_fail_and_end_the_run_ends_with_them(count: int, rng: Any) -> None:
    ids = [f"m{at}" for at in range(count)]
    host = node("h", middlewares=[node(each, id=each) for each in ids])
    run = Played(compile_workflow(workflow([host, node("b")], [edge("h", "b")])))
    for _ in range(200):
        live = [t for t in run.tasks() if t.state in (TaskState.QUEUED, TaskState.RUNNING)]
        calls = [task for task in live if task.kind == Kind.CALL]
        if not calls:
            break
        step(run, rng.choice(calls), rng)
    else:
        outer = f"{uid('h')}/m0"
        run.succeed(run.one(outer).id)
        if run.queued():
            run.succeed(run.queued()[0].id)
    assert run.state() in (RunState.SUCCEEDED, RunState.FAILED)
    assert (run.row().open, run.row().active) == (0, 0)
    assert all(task.state in TASK_ENDED for task in run.tasks())


def step(run: Played, task: Task, rng: Any) -> None:
    """Something a worker may do with a task."""
    choice = rng.random()
    if choice < 0.5 and run.graph.nodes[task.node].next:
        run.call_next(task.id, f"r{rng.randrange(3)}")
    elif choice < 0.6:
        run.fail(task.id)
    elif choice < 0.7:
        run.succeed(task.id, {}, skipped=True)
    else:
        run.succeed(task.id, {"y": 1})


# Whatever is sent in

words = st.sampled_from(
    ["parameters.x", "results", "/results/y", "#x", "kit", "1.0.0", "out", "in", "", "a", "mw:m"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=4)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(words, inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "equals", "all", "not", "key", "binding"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


def compiled(definition: object) -> Graph | None:
    try:
        return compile_workflow(definition)
    except DefinitionError as error:
        said = [bool(problem.path and problem.reason) for problem in error.problems]
    assert said
    assert all(said)
    return None


@given(
    anything
    | st.dictionaries(
        st.sampled_from(["id", "nodes", "edges", "subgraphs", "runtimes", "metadata"]), anything
    )
)
def test_any_json_value_is_a_graph_or_a_definition_error(value: object) -> None:
    compiled(value)


@given(
    st.sampled_from(sorted(NODE_FIELDS)),
    anything,
    st.sampled_from(["source", "target", "condition", "id"]),
    anything,
)
@settings(max_examples=300)
def test_a_workflow_with_a_spoilt_field_is_sound_or_refused(
    field: str, value: object, end: str, other: object
) -> None:
    inner = subgraph("g", [node("n")])
    nodes = [node("a", **{field: value}), container("box", "g"), node("b")]
    edges = [{**edge("a", "b"), end: other}, edge("box", "b", ">in")]
    graph = compiled(workflow(nodes, edges, subgraphs=[inner]))
    if graph is None:
        return
    for path, lowered in graph.nodes.items():
        assert lowered.path == path
        assert lowered.kind is not Kind.CALL or lowered.target is not None
        if lowered.kind is Kind.SUBFLOW:
            assert all(graph.nodes[start].scope_path == path for start in graph.starts[path])
    for leaving in graph.edges.values():
        for each in leaving:
            assert each.target is None or graph.nodes[each.target].path == each.target
    Played(graph)


class Everything:
    def find(self, name: str, version: str | None, min_version: str | None) -> Found | None:
        return Found(version or "9.0.0")


@given(nests())
def test_what_is_resolved_lowers_the_same_every_time(nest: tuple[dict[str, Any], int]) -> None:
    definition, _ = nest
    locked = resolve(definition, Everything())
    graph = compile_workflow(definition, locked)
    assert compile_workflow(definition, locked) == graph
    assert set(outline(definition, locked)) == set(graph.nodes)
