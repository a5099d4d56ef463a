"""Checks of a scope's shape: what its edges reach, repeat, can never take, or spin on."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from windlass.dialects.circles import circles, shown
from windlass.dialects.fields import Problems
from windlass.dialects.flow.draft import Draft, WrittenNode
from windlass.dialects.plain import under
from windlass.model.graph import Kind, Node, Ref, Root
from windlass.model.values import is_list

_ALWAYS = frozenset({"default", "error", "timeout"})
"""Actions the kernel itself gives, whatever a node's rules say."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge by the keys of one scope, with its place in the definition."""

    where: str
    source: str
    on: str
    target: str | None


def check_scope(
    entries: Mapping[str, WrittenNode], start: str | None, arrows: list[Arrow], draft: Draft
) -> None:
    """Note everything wrong with how the nodes of a scope are connected."""
    nodes = {key: draft.nodes[entry.path] for key, entry in entries.items()}
    _check_repeated(arrows, draft.problems)
    _check_dead(arrows, nodes, draft.problems)
    onward: dict[str, list[str]] = defaultdict(list)
    for arrow in arrows:
        if arrow.target is not None:
            onward[arrow.source].append(arrow.target)
    if start is not None:  # without a start every node would be out of reach
        reached = _reached(start, onward)
        for key, entry in entries.items():
            if key not in reached:
                hint = "add an edge to it, or remove it"
                draft.problems.add(entry.where, f'no way leads here from "{start}"', hint)
    _check_spinning(entries, nodes, onward, draft.problems)


def _check_repeated(arrows: list[Arrow], problems: Problems) -> None:
    seen: dict[tuple[str, str], str] = {}
    for arrow in arrows:
        first = seen.setdefault((arrow.source, arrow.on), arrow.where)
        if first != arrow.where:
            reason = f'{first} leaves "{arrow.source:.60}" on "{arrow.on:.60}" already'
            problems.add(arrow.where, reason, "one action takes one edge; keep one of them")


def _check_dead(arrows: list[Arrow], nodes: Mapping[str, Node], problems: Problems) -> None:
    """Edges on an action their node cannot name; only choices and timers say all of theirs."""
    named = {
        key: {*(case.action for case in node.cases), node.action.static, node.action.default}
        for key, node in nodes.items()
        if node.kind in (Kind.CHOICE, Kind.TIMER) and not node.action.key
    }
    for arrow in arrows:
        actions = named.get(arrow.source)
        if actions is None or arrow.on in actions or arrow.on in _ALWAYS:
            continue
        hint = problems.closest(arrow.on, actions) or "name it in a case, or remove the edge"
        reason = f'"{arrow.source:.60}" never gives the action "{arrow.on:.60}"'
        problems.add(under(arrow.where, "action"), reason, hint)


def _reached(start: str, onward: Mapping[str, list[str]]) -> set[str]:
    reached, stack = {start}, [start]
    while stack:
        for key in onward.get(stack.pop(), ()):
            if key not in reached:
                reached.add(key)
                stack.append(key)
    return reached


def _check_spinning(
    entries: Mapping[str, WrittenNode],
    nodes: Mapping[str, Node],
    onward: Mapping[str, list[str]],
    problems: Problems,
) -> None:
    """A loop that neither waits nor calls anything changes no value, so it would be taken for ever
    once entered."""
    instant = {
        key: [to for to in onward.get(key, ()) if _is_instant(nodes[to])]
        for key, node in nodes.items()
        if _is_instant(node)
    }
    for loop in circles(instant):
        hint = "put a node that does something into the loop"
        only = all(nodes[key].kind is Kind.CHOICE for key in loop)
        what = "choices" if only else "nodes that end at once"
        reason = f"{what} lead in a circle: {shown(loop)}"
        problems.add(entries[loop[0]].where, reason, hint)


def _is_instant(node: Node) -> bool:
    """Whether a node surely ends the moment it is reached: so does a foreach that has no items, as
    it has no input or one that is written out and is no list of any."""
    if node.kind is Kind.CHOICE:
        return True
    given = node.input
    if isinstance(given, Ref) and given.root is Root.LITERAL:
        has_items = is_list(given.literal) and bool(given.literal)
    else:
        has_items = given is not None
    return node.kind is Kind.FOREACH and not has_items
