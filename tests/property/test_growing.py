"""Graphs that grow: however a run is patched, it ends as a fresh run of its last graph would."""

import random
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.property.joined_graphs import joined_graph
from tests.property.meddled import Meddled, check_counters, told
from windlass.kernel.events import PatchGraph
from windlass.kernel.patching import extended
from windlass.model.errors import Conflict, DefinitionError, TooMuchWork
from windlass.model.graph import Activation, Edge, Graph, Kind, Node, Output, Ref, Root, Target
from windlass.model.graph import Transport as By
from windlass.model.ids import node_path
from windlass.model.patches import GraphPatch, Patch, read_patch
from windlass.model.states import RUN_ENDED, TaskState


def call(path: str, sources: list[str]) -> Node:
    reads: dict[str, Ref] = {each: Ref(Root.RESULTS, (each,)) for each in sources}
    return Node(
        path=path,
        kind=Kind.CALL,
        activation=Activation.ALL,
        fires_all=True,
        target=Target(By.LOCAL, "f"),
        input=reads,
        output=Output(key=path.replace("/", ".")),
    )


def reads(node: Node, path: str) -> bool:
    """Whether a node's input has the results of another."""
    return isinstance(node.input, dict) and path in node.input


def some_patch(graph: Graph, rng: random.Random, number: int) -> Patch:
    """Nodes more, nodes less, a node that is replaced, and edges wherever they may go."""
    scopes = ["", *(path for path in graph.starts if path in graph.joins)]
    scope = rng.choice(scopes)
    here = [path for path in graph.joins if path.rpartition("/")[0] == scope]
    drop = [path for path in here if rng.random() < 0.2]
    left = [path for path in here if path not in drop]
    nodes: list[Node] = []
    edges: list[Edge] = []
    for count in range(rng.randint(0, 2)):
        path = node_path(scope, f"p{number}{count}")
        if drop and rng.random() < 0.3 and graph.nodes[drop[0]].kind is Kind.CALL:
            path = drop[0]
        sources = [each for each in left if rng.random() < 0.4]
        nodes.append(call(path, sources))
        edges += [Edge(source, "default", path) for source in sources]
        # Whoever reads what a node hands out waits for it: else it is chance what they read.
        edges += [
            Edge(path, "default", each)
            for each in left
            if rng.random() < 0.2 or reads(graph.nodes[each], path)
        ]
    redo = [path for path in left if rng.random() < 0.1]
    return Patch(tuple(nodes), tuple(edges), tuple(drop), tuple(redo), reason=f"patch {number}")


def grow(meddled: Meddled, number: int) -> None:
    """Send a patch, and the same once more: it is taken once, or refused with all reasons."""
    run = meddled.run
    revision = run.row().graph_rev
    patch = some_patch(run.graph, meddled.rng, number)
    kept = {task.id: task for task in run.tasks()}
    event = PatchGraph(run.row().id, patch, revision)
    try:
        assert run.send(event) == revision + 1
    except (Conflict, DefinitionError):
        assert run.row().graph_rev == revision
        return
    assert run.send(event) == revision + 1
    assert run.row().graph_rev == revision + 1
    assert run.events()[-1].type == "graph.patched"
    untouched = {path for path in run.graph.nodes if "/" not in path} - {*patch.drop, *patch.redo}
    if not patch.edges and not patch.drop and not patch.redo:
        for task in kept.values():
            if task.node in untouched and task.state is TaskState.SUCCEEDED:
                assert run.task(task.id) == task


@given(joined_graph(), st.integers(0, 2**32), st.integers(1, 20), st.booleans())
@settings(max_examples=200)
def test_a_run_that_was_patched_ends_as_a_fresh_run_of_its_last_graph(
    graph: Graph, seed: int, deeds: int, meddling: bool
) -> None:
    meddled = Meddled(graph, seed)
    for number in range(deeds):
        if meddled.rng.random() < 0.4 and meddled.run.state() not in RUN_ENDED:
            grow(meddled, number)
        elif meddling:
            meddled.meddle()
        elif queued := meddled.run.queued():
            meddled.work(meddled.rng.choice(queued))
    try:
        meddled.settle()
        fresh = Meddled(meddled.run.graph, 0)
        fresh.finish()
    except TooMuchWork:
        reject()  # loops in loops may double a value until it is too long for any run
    assert told(meddled.run) == told(fresh.run)
    check_counters(meddled.run)
    check_kept(graph, meddled)


def check_kept(graph: Graph, meddled: Meddled) -> None:
    """The record gives the graph again, text for text."""
    rows: Any = meddled.run.tables.get(GraphPatch, {}).values()
    for number, row in enumerate(sorted(rows, key=lambda row: row.rev), 1):
        assert row.rev == number
        graph = extended(graph, read_patch(row.patch))
    assert graph == meddled.run.graph
    assert meddled.run.row().graph_rev == len(rows)


def test_a_patch_for_another_revision_is_refused() -> None:
    graph = Graph({"": ("a",)}, {"a": call("a", [])}, {}, {"a": 1})
    run = Meddled(graph, 0).run
    first = Patch((call("b", []),))
    run.send(PatchGraph(run.row().id, first, 0))
    with pytest.raises(Conflict, match="at revision 1, the patch is for 0"):
        run.send(PatchGraph(run.row().id, Patch((call("c", []),)), 0))
