"""What a container is in the graph: a subflow and, if it loops, a choice to go through it again."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from windlass.dialects.flow.refs import literal
from windlass.dialects.workflow.connections import RESULTS, Link, Way
from windlass.dialects.workflow.shape import Json, Path, Subgraph, WorkflowNode
from windlass.dialects.workflow.spots import Inside, Spot
from windlass.model.graph import (
    Activation,
    Case,
    Edge,
    Expr,
    Fill,
    Kind,
    Node,
    Output,
    Ref,
    Retry,
    Root,
    Strategy,
)
from windlass.model.ids import node_path

PREVIOUS = "__previous"
"""Where an iteration of a loop finds what the one before it left."""
_AGAIN = "again"


def container_node(entry: WorkflowNode, spot: Spot, parameters: Json) -> Node:
    """The container itself."""
    assert entry.container is not None
    node = Node(
        path=spot.path,
        kind=Kind.SUBFLOW,
        activation=Activation.ANY if spot.awaited else Activation.ALL,
        fires_all=True,
        params=parameters,
        fills=spot.fills,
        when=spot.when,
        awaited=spot.awaited,
        output=spot.output,
        timeout_ms=entry.container.timeout_ms or entry.timeout_ms,
    )
    return node if entry.container.loop is not None else with_retry(node, entry)


def with_retry(node: Node, entry: WorkflowNode) -> Node:
    """The subflow that holds a container's nodes; it may have tries left when theirs are used."""
    assert entry.container is not None
    retry: Retry = entry.container.retry or entry.retry
    if not retry.retries_max:
        return node
    return replace(node, strategy=Strategy.RETRY, retry=retry)


def loop_nodes(
    entry: WorkflowNode, path: str, condition: Expr | None
) -> tuple[Node, Node, dict[str, tuple[Edge, ...]]]:
    """An iteration of a loop, the choice after it, and the edges between the two.

    Every visit to the iteration and to the choice is a task, so the choice's step is twice the
    number of iterations that are over.
    """
    loop = entry.container.loop if entry.container is not None else None
    assert loop is not None
    body_path, again_path = node_path(path, "body"), node_path(path, _AGAIN)
    fills = [Fill((), Ref(Root.CONTAINER))]
    if loop.carry:
        fills.append(Fill((PREVIOUS,), Ref(Root.SHARED, (RESULTS,))))
    body = Node(path=body_path, kind=Kind.SUBFLOW, fills=tuple(fills), output=Output(key=RESULTS))
    tests: list[Expr] = [] if condition is None else [condition]
    if loop.iterations_max:
        bound = literal(2 * loop.iterations_max)
        tests.append(Expr("lt", (Ref(Root.STEP), bound)))
    choice = Node(
        path=again_path, kind=Kind.CHOICE, cases=(Case(_AGAIN, Expr("and", tuple(tests))),)
    )
    edges: dict[str, tuple[Edge, ...]] = {
        body_path: (Edge(body_path, "default", again_path),),
        again_path: (Edge(again_path, _AGAIN, body_path),),
    }
    return with_retry(body, entry), choice, edges


def inside_of(
    entry: WorkflowNode,
    spot: Spot,
    path: str,
    subgraph: Subgraph,
    exports: set[Way],
    carry: Sequence[Link],
) -> Inside:
    """What the graph inside a container is given, and what is wanted of it."""
    delivered: defaultdict[str, list[Path]] = defaultdict(list)
    for place in spot.filled:
        inner = str(place[0])[1:] if place and str(place[0]).startswith("#") else ""
        if inner in subgraph.body.entries:
            delivered[inner].append(place[1:])
    offers = {
        key: port.binding.path
        for key, port in entry.ports.inputs.items()
        if port.binding is not None and port.binding.root == "parameters" and not port.binding.node
    }
    return Inside(
        path,
        spot.inside.level + 1,
        (*spot.inside.trail, entry.id),
        delivered,
        offers,
        frozenset(exports) | spot.ways,
        carry,
    )
