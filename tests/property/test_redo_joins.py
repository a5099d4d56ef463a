"""Redoing part of a graph with joins: it ends as a fresh run would, and keeps what still stands.

Graphs are made by hand, of every kind of node, so that no dialect is in the way.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.joined_graphs import joined_graph
from tests.property.meddled import Meddled, check_counters, told
from windlass.model.graph import Graph


@given(joined_graph(), st.integers(0, 2**32), st.integers(0, 25))
@settings(max_examples=200)
def test_whatever_is_redone_the_run_ends_as_a_fresh_one_would(
    graph: Graph, seed: int, deeds: int
) -> None:
    meddled = Meddled(graph, seed)
    for _ in range(deeds):
        meddled.meddle()
    meddled.settle()
    fresh = Meddled(graph, 0)
    fresh.finish()
    assert told(meddled.run) == told(fresh.run)
    check_counters(meddled.run)


@given(joined_graph(), st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=100)
def test_a_handler_that_says_something_else_is_heard_downstream_and_nowhere_else(
    graph: Graph, seed: int, redos: int
) -> None:
    meddled = Meddled(graph, seed)
    for _ in range(redos):
        meddled.settle()
        meddled.redo(salted=True)
    meddled.settle()
    fresh = Meddled(graph, 0)
    fresh.salts = meddled.salts
    fresh.finish()
    assert told(meddled.run) == told(fresh.run)
    check_counters(meddled.run)
