"""A graph and a patch: everything that is wrong with the patch, and the graph that comes of it.

Nodes that were dropped stay in the table of nodes, as tasks of them are part of the record; they
have no edges and nothing waits there any more.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from windlass.kernel.bounds import Limits
from windlass.kernel.downstream import reachable
from windlass.model.errors import Problem
from windlass.model.graph import SCOPES, Edge, Graph, Kind, Node
from windlass.model.patches import Patch

FAN_OUTS = (Kind.PARALLEL, Kind.FOREACH)
_PATH_CHARS_MAX = 1_000


def extended(graph: Graph, patch: Patch) -> Graph:
    """The graph with a patch that has no problems. Tables are copied, and only what the patch
    touches is worked out anew."""
    nodes = {**graph.nodes}
    edges, joins, starts = {**graph.edges}, {**graph.joins}, {**graph.starts}
    touched = scopes_of(patch)
    gone = [path for path in joins if is_inside(path, patch.drop)]
    for path in gone:
        del joins[path]
    for path in [path for path in edges if is_inside(path, patch.drop)]:
        del edges[path]
    for path in [path for path in starts if is_inside(path, patch.drop)]:
        del starts[path]
    away = {*patch.drop}
    for path, leaving in graph.edges.items():
        if path in edges and any(edge.target in away for edge in leaving):
            edges[path] = tuple(edge for edge in leaving if edge.target not in away)
    for node in patch.nodes:
        nodes[node.path] = node
    for node in patch.nodes:
        if not is_branch(nodes, node.path):
            joins[node.path] = 1
    for edge in patch.edges:
        edges[edge.source] = (*edges.get(edge.source, ()), edge)
    _count(touched, joins, edges, starts)
    kept = (graph.fails_run, graph.params, graph.budget, graph.grows)
    return Graph(starts, nodes, edges, joins, *kept)


def _count(
    touched: set[str],
    joins: dict[str, int],
    edges: dict[str, tuple[Edge, ...]],
    starts: dict[str, tuple[str, ...]],
) -> None:
    """How many edges lead to each node of some scopes, and which are their first nodes."""
    into: defaultdict[str, int] = defaultdict(int)
    for leaving in edges.values():
        for edge in leaving:
            into[edge.target or ""] += 1
    below: defaultdict[str, list[str]] = defaultdict(list)
    for path in joins:
        scope = path.rpartition("/")[0]
        if scope in touched:
            joins[path] = into[path] or 1
            if not into[path]:
                below[scope].append(path)
    for scope in touched:
        starts[scope] = tuple(below[scope])


def scopes_of(patch: Patch) -> set[str]:
    """The scopes a patch changes, by their paths."""
    paths = [*(node.path for node in patch.nodes), *patch.drop, *patch.redo]
    paths += [edge.source for edge in patch.edges]
    return {path.rpartition("/")[0] for path in paths}


def is_inside(path: str, tops: Iterable[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def is_branch(nodes: dict[str, Node], path: str) -> bool:
    around = nodes.get(path.rpartition("/")[0])
    return around is not None and around.kind in FAN_OUTS


def problems_of(
    graph: Graph, patch: Patch, limits: Limits, revision: int, size: int
) -> list[Problem]:
    """Everything that speaks against a patch, whose text has that `size`; nothing if it may be
    taken."""
    found = list(_too_much(graph, patch, limits, revision, size))
    if found:
        return found  # What is too large is not looked at any closer.
    after = {**graph.nodes, **{node.path: node for node in patch.nodes}}
    alive = {path for path in graph.joins if not is_inside(path, patch.drop)}
    alive |= {node.path for node in patch.nodes if not is_branch(after, node.path)}
    for path in (*patch.drop, *patch.redo):
        if path not in graph.joins:
            reason = f'the graph has no node "{path:.80}" that waits for its edges'
            found.append(Problem(path, reason, "name one that stands in it"))
    counts = Counter(node.path for node in patch.nodes)
    for node in patch.nodes:
        if counts[node.path] > 1:
            found.append(Problem(node.path, "named twice in the patch"))
        found += _node_problems(graph, patch, after, node)
    for at, edge in enumerate(patch.edges):
        found += _edge_problems(alive, edge, f"edges[{at}]")
    found += _empty_scopes(patch, alive)
    return found or _cycles(graph, patch)


def _empty_scopes(patch: Patch, alive: set[str]) -> Iterable[Problem]:
    left = {path.rpartition("/")[0] for path in alive}
    for scope in {path.rpartition("/")[0] for path in patch.drop} - left:
        if not is_inside(scope, patch.drop):
            reason = "nothing would be left in it"
            yield Problem(scope or "graph", reason, "drop the container, or cancel the run")


def _too_much(
    graph: Graph, patch: Patch, limits: Limits, revision: int, size: int
) -> Iterable[Problem]:
    counts = (
        ("nodes", len(patch.nodes) + len(patch.drop) + len(patch.redo), limits.patch_nodes_max),
        ("edges", len(patch.edges), limits.patch_edges_max),
        ("bytes", size, limits.patch_bytes_max),
        ("nodes in the run's graph", len(graph.nodes) + len(patch.nodes), limits.run_nodes_max),
        ("patches of the run", revision + 1, limits.patches_max),
    )
    for what, count, most in counts:
        if count > most:
            yield Problem("patch", f"{count:,} {what}, at most {most:,}", "make it smaller")
    if not (patch.nodes or patch.edges or patch.drop or patch.redo):
        yield Problem("patch", "it changes nothing", "add or drop something")
    if not graph.counts_edges:
        hint = "start a run of a graph whose nodes wait for all their edges"
        yield Problem("patch", "the run follows one edge at a time, and cannot grow", hint)


def _node_problems(
    graph: Graph, patch: Patch, after: dict[str, Node], node: Node
) -> Iterable[Problem]:
    path = node.path
    scope = path.rpartition("/")[0]
    if not node.key or len(path) > _PATH_CHARS_MAX or "~" in path:
        yield Problem(path[:80], "not a path", "a scope's path, a slash and a name")
        return
    old = graph.nodes.get(path)
    stands = path in graph.joins or (is_branch(graph.nodes, path) and scope in graph.joins)
    if old is not None and stands and not is_inside(path, patch.drop):
        yield Problem(path, "the graph has this node already", "drop it to replace it")
    elif old is not None and old.kind is not node.kind:
        reason = f"there was a node of the kind {old.kind} here"
        yield Problem(path, reason, "give it another name")
    around = after.get(scope)
    if scope and (around is None or not _may_hold(graph, patch, around, node)):
        yield Problem(path, f'"{scope}" is no container that nodes can be added to')
    if not scope and not _waits(graph, ""):
        hint = "a flow grows in its plans only"
        yield Problem(path, "the run follows one edge at a time here, and cannot grow", hint)
    if node.awaited or node.next:
        yield Problem(path, "middlewares cannot be added to a run")
    if node.kind is Kind.CALL and node.target is None:
        yield Problem(path, "a call needs a target")
    if node.kind is Kind.TIMER and node.delay is None:
        yield Problem(path, "a timer needs a delay")
    wanted = _wanted_inside(node)
    if any(inner not in after for inner in wanted):
        yield Problem(path, f"it needs the nodes {', '.join(wanted)}")
    if node.kind is Kind.SUBFLOW and not any(n.scope_path == path for n in patch.nodes):
        yield Problem(path, "there is nothing in it", "add its nodes in the same patch")


def _may_hold(graph: Graph, patch: Patch, around: Node, node: Node) -> bool:
    """Whether nodes may be put into a container: a plan, a fan-out that comes with the patch, or a
    subflow whose nodes all wait for their edges."""
    if around.kind is Kind.PLAN:
        return node.kind is Kind.CALL
    new = any(other.path == around.path for other in patch.nodes)
    if around.kind in FAN_OUTS:
        return new and node.kind is Kind.CALL
    stands = around.path in graph.joins and _waits(graph, around.path)
    return around.kind in SCOPES and (new or stands)


def _waits(graph: Graph, scope: str) -> bool:
    """Whether the nodes of a scope wait for all their edges, so that there may be more of them."""
    first = graph.starts.get(scope, ())
    return all(path in graph.joins and not graph.nodes[path].next for path in first)


def _wanted_inside(node: Node) -> list[str]:
    match node.kind:
        case Kind.PARALLEL:
            return [f"{node.path}/{index}" for index in range(min(node.branches, 1_000))]
        case Kind.FOREACH:
            return [f"{node.path}/*", *(f"{node.path}/{index}" for index in node.overrides)]
        case _:
            return []


def _edge_problems(alive: set[str], edge: Edge, where: str) -> Iterable[Problem]:
    for end in (edge.source, edge.target):
        if end is None or end not in alive:
            text = f'there is no node "{end or "":.80}" that waits for its edges'
            yield Problem(where, text, "both ends stand in the graph when the patch is taken")
    if edge.source.rpartition("/")[0] != (edge.target or "").rpartition("/")[0]:
        yield Problem(where, "it crosses the border of a container", "both ends stand in one")


def _goes_round(graph: Graph, patch: Patch) -> bool:
    """Whether some way leads in a circle: one look at each edge, where naming the edges of a circle
    takes many. Taken away one by one, nodes that nothing leads to are all there is without one."""
    onward: defaultdict[str, list[str]] = defaultdict(list)
    into: Counter[str] = Counter()
    touched, away = scopes_of(patch), {*patch.drop}
    kept = (edge for path, leaving in graph.edges.items() if path not in away for edge in leaving)
    for edge in (*(edge for edge in kept if edge.target not in away), *patch.edges):
        if edge.target and edge.target.rpartition("/")[0] in touched:
            onward[edge.source].append(edge.target)
            into[edge.target] += 1
    free = [path for path in onward if not into[path]]
    left = into.total()
    while free:
        for target in onward.get(free.pop(), ()):
            left -= 1
            into[target] -= 1
            if not into[target]:
                free.append(target)
    return left > 0


def _cycles(graph: Graph, patch: Patch) -> list[Problem]:
    if not patch.edges or not _goes_round(graph, patch):
        return []
    after = extended(graph, patch)
    return [
        Problem(f"edges[{at}]", f'it leads back to "{edge.source:.80}"', "take it out")
        for at, edge in enumerate(patch.edges)
        if edge.source == edge.target or edge.source in reachable(after, edge.target or "")
    ]
