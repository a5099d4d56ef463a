"""Connected graphs to nodes and edges: every node waits for all its edges, and its input is filled.

A container becomes a subflow with its graph inside it. Values cross its border by name: what is
meant for an inner node travels in the container's input under `#<node id>`, what an inner node
leaves goes out in the container's output under the same name. Each level passes on what is not for
itself, so nothing here or in the kernel looks further than one level.
"""

from collections.abc import Mapping

from windlass.dialects.plain import under
from windlass.dialects.workflow.connections import Connections, Connector, path_into
from windlass.dialects.workflow.draft import Draft, NodeOrigin
from windlass.dialects.workflow.middlewares import chain, wrapper
from windlass.dialects.workflow.nesting import PREVIOUS, container_node, inside_of, loop_nodes
from windlass.dialects.workflow.plans import plan_node
from windlass.dialects.workflow.schemas import check_parameters, schema_text, with_defaults
from windlass.dialects.workflow.shape import Interface, Json, Path, WorkflowNode
from windlass.dialects.workflow.spots import Inside, Spot
from windlass.model.graph import (
    Activation,
    Edge,
    Fill,
    Kind,
    Node,
    Output,
    Ref,
    Root,
    Target,
    Transport,
    pod_target,
)
from windlass.model.ids import node_path


class Lowering:
    """Lowers connected graphs into a draft."""

    def __init__(
        self,
        draft: Draft,
        connector: Connector,
        connected: Mapping[str, Connections],
        interface: Interface,
    ) -> None:
        self._interface = interface
        self._draft = draft
        self._connector = connector
        self._connected = connected

    def body(self, wired: Connections, inside: Inside) -> None:
        """One graph at one place."""
        entries, draft = wired.body.entries, self._draft
        if not draft.admit(len(entries), under(wired.body.where, "nodes")):
            return
        paths = {key: node_path(inside.path, key) for key in entries}
        draft.starts[inside.path] = tuple(
            path for key, path in paths.items() if not wired.into.get(key)
        )
        for key, entry in entries.items():
            path = paths[key]
            draft.joins[path] = len(wired.into.get(key, ())) or 1
            leaving = wired.out.get(key, ())
            draft.connect(
                path, [Edge(path, "default", paths[link.target], link.when) for link in leaving]
            )
            spot = self._spot(wired, entry, path, inside)
            if entry.middlewares and not entry.is_plan:
                self._hosted(wired, entry, spot)
            else:
                full = with_defaults(entry.parameters, entry.schemas.parameters)
                self._own(wired, entry, spot, full)

    def _spot(self, wired: Connections, entry: WorkflowNode, path: str, inside: Inside) -> Spot:
        fills = self._fills(wired, entry, inside)
        ways = frozenset(way[1:] for way in inside.exports if way[0] == entry.id)
        leaves = inside.path and (ways or not wired.out.get(entry.id))
        return Spot(
            path,
            inside,
            fills,
            Output(key=f"#{entry.id}") if leaves else self._given_back(entry, inside),
            wired.conditions[entry.id],
            frozenset(way for way in ways if way),
            frozenset(fill.path for fill in fills),
        )

    def _given_back(self, entry: WorkflowNode, inside: Inside) -> Output:
        """What the run itself gives back of a node's results."""
        return Output() if inside.path else self._interface.outputs.get(entry.id, Output())

    def _fills(self, wired: Connections, entry: WorkflowNode, inside: Inside) -> tuple[Fill, ...]:
        """Everything that is filled into a node; what comes from its container comes first."""
        into = wired.into.get(entry.id, ())
        fills = [] if into else _offered(entry, inside)
        if not inside.path:
            fills += self._interface.fills.get(entry.id, ())
        delivered = inside.delivered.get(entry.id, ())
        for path in sorted(delivered, key=lambda path: (len(path), str(path))):
            fills.append(Fill(path, Ref(Root.CONTAINER, (f"#{entry.id}", *path))))
        for link in inside.carry:
            if link.target == entry.id and link.into is not None:
                steps: Path = (PREVIOUS, f"#{link.source}", *link.steps)
                fills.append(Fill(link.into, Ref(Root.CONTAINER, steps)))
        for link in into:
            if link.into is not None:
                steps = (node_path(inside.path, link.source), *link.steps)
                fills.append(Fill(link.into, Ref(link.root, steps), link.when))
        return tuple(fills)

    def _own(
        self, wired: Connections, entry: WorkflowNode, spot: Spot, parameters: Json, role: str = ""
    ) -> None:
        """The node itself, without what stands before it."""
        if entry.is_plan:
            node = plan_node(entry, spot, parameters, self._draft.problems)
            self._draft.add(node, _place(entry, spot, "node"))
        elif entry.container is not None:
            self._container(wired, entry, spot, parameters, role or "container")
        else:
            self._call(entry, spot, parameters, _place(entry, spot, role or "node"))

    def _call(self, entry: WorkflowNode, spot: Spot, parameters: Json, place: NodeOrigin) -> None:
        """Work for whoever has the package; fixed parameters must meet the schema already."""
        schemas = entry.schemas
        where = under(entry.where, "parameters")
        if schemas.parameters is not None:
            full = with_defaults(entry.parameters, schemas.parameters)
            check_parameters(full, schemas.parameters, spot.filled, where, self._draft.problems)
        node = Node(
            path=spot.path,
            kind=Kind.CALL,
            activation=Activation.ANY if spot.awaited else Activation.ALL,
            fires_all=True,
            target=_target(entry, place),
            params=parameters,
            fills=spot.fills,
            when=spot.when,
            params_schema=schema_text(schemas.parameters),
            results_schema=schema_text(schemas.results),
            results_strict=entry.strict,
            results=with_defaults(entry.results, schemas.results),
            awaited=spot.awaited,
            next=spot.next,
            output=spot.output,
            retry=entry.retry,
            timeout_ms=entry.timeout_ms,
            affinity=entry.affinity,
            limits=entry.limits,
            verification=entry.verification,
            **entry.env.columns(),
        )
        self._draft.add(node, place)

    def _hosted(self, wired: Connections, entry: WorkflowNode, spot: Spot) -> None:
        """A node with middlewares: those first, each calling for the next."""
        draft = self._draft
        role = "node" if entry.container is None else "container"
        draft.add(wrapper(entry, spot), _place(entry, spot, role))
        links = chain(entry, spot)
        first = links[0][1].path
        draft.starts[spot.path] = (first,)
        draft.joins[first] = 1
        if not draft.admit(len(links), entry.where):
            return
        for each, inner in links:
            if each is entry:
                self._own(wired, entry, inner, {}, "host")
            else:
                self._call(each, inner, {}, _place(each, inner, "middleware", entry.id))

    def _container(
        self, wired: Connections, entry: WorkflowNode, spot: Spot, parameters: Json, role: str
    ) -> None:
        """A graph inside a node."""
        draft, levels_max = self._draft, self._draft.limits.levels_max
        subgraph = self._connector.source.inside(entry)
        draft.add(container_node(entry, spot, parameters), _place(entry, spot, role))
        if subgraph is None or spot.inside.level >= levels_max:
            if subgraph is not None:
                reason = f"containers nest deeper than {levels_max} levels"
                draft.problems.add(entry.where, reason)
            return
        path = spot.path
        if entry.container is not None and entry.container.loop is not None:
            body, again, edges = loop_nodes(entry, path, wired.again[entry.id])
            draft.starts[path] = (body.path,)
            draft.edges.update(edges)
            draft.add(body, _place(entry, spot, "body", path=body.path))
            draft.add(again, _place(entry, spot, "again", path=again.path))
            path = body.path
        exports = self._connector.ways[entry.where]
        inside = inside_of(entry, spot, path, subgraph, exports, wired.carry[entry.id])
        self.body(self._connected[subgraph.id], inside)


def _offered(entry: WorkflowNode, inside: Inside) -> list[Fill]:
    """What a first node takes from its container: parameters under the key of one of its ports."""
    fills: list[Fill] = []
    for key, port in entry.ports.inputs.items():
        bound = port.binding
        if key in inside.offers and bound and bound.root == "parameters" and not bound.node:
            place = path_into(entry, (), bound.path)
            fills.append(Fill(place, Ref(Root.CONTAINER, inside.offers[key])))
    return fills


def _target(entry: WorkflowNode, place: NodeOrigin) -> Target:
    """Whoever has the package, or a pod."""
    if entry.pod is not None:
        return pod_target(entry.pod)
    return Target(
        Transport.LINK,
        f"{place.package}@{place.version}:{entry.type}",
        package=place.package,
        version=place.version,
        handler=entry.type,
    )


def _place(
    entry: WorkflowNode, spot: Spot, role: str, host: str = "", path: str = ""
) -> NodeOrigin:
    package = entry.package
    return NodeOrigin(
        path or spot.path,
        entry.id,
        role,
        entry.type,
        entry.label,
        package=package.name if package is not None else "",
        version=package.version if package is not None else "",
        container=spot.path if path else spot.inside.path,
        host=host,
        middlewares=tuple(middleware.id for middleware in entry.middlewares),
        trail=spot.inside.trail,
    )
