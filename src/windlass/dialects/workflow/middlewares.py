"""Middlewares: a node with some becomes a subflow of them and the node itself.

The outermost begins with the subflow. Each may call for the next one, the last for the node, as
often as it likes; what is called for is awaited by whoever called. The subflow's input and output
keep the parameters and results of each under its own name, so edges find them from outside.
"""

from dataclasses import replace

from windlass.dialects.workflow.connections import HOST
from windlass.dialects.workflow.schemas import with_defaults
from windlass.dialects.workflow.shape import Json, Path, WorkflowNode
from windlass.dialects.workflow.spots import Spot
from windlass.model.graph import Activation, Fill, Kind, Node, Output, Ref, Root
from windlass.model.ids import node_path


def host_path(path: str) -> str:
    """Where a node that has middlewares stands itself, behind them."""
    return node_path(path, HOST)


def wrapper(entry: WorkflowNode, spot: Spot) -> Node:
    """The subflow around a node and its middlewares."""
    parameters: Json = {HOST: with_defaults(entry.parameters, entry.schemas.parameters)}
    for middleware in entry.middlewares:
        full = with_defaults(middleware.parameters, middleware.schemas.parameters)
        parameters[f"#{middleware.id}"] = full
    return Node(
        path=spot.path,
        kind=Kind.SUBFLOW,
        activation=Activation.ALL,
        fires_all=True,
        params=parameters,
        fills=spot.fills,
        when=spot.when,
        output=spot.output,
    )


def chain(entry: WorkflowNode, spot: Spot) -> list[tuple[WorkflowNode, Spot]]:
    """The middlewares in the order they are visited, and the node itself last."""
    inside = replace(
        spot.inside, path=spot.path, level=spot.inside.level + 1, trail=spot.inside.trail
    )
    links = [(middleware, f"#{middleware.id}", middleware.id) for middleware in entry.middlewares]
    links.append((entry, HOST, HOST))
    paths = [node_path(spot.path, key) for _, _, key in links]
    return [
        (
            each,
            Spot(
                paths[at],
                inside,
                (Fill((), Ref(Root.CONTAINER, (name,))),),
                Output(key=name),
                ways=spot.ways if each is entry else frozenset(),
                filled=_below(spot.filled, name),
                awaited=at > 0,
                next=paths[at + 1] if at + 1 < len(paths) else "",
            ),
        )
        for at, (each, name, _) in enumerate(links)
    ]


def _below(filled: frozenset[Path], name: str) -> frozenset[Path]:
    return frozenset(path[1:] for path in filled if path and path[0] == name)
