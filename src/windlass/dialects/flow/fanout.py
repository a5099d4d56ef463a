"""Branches of parallel and foreach nodes: each lowers to a call node below its container.

A branch holds only what its own spec says of params and input: at run time the kernel lays its
params over the container's, and hands it the container's input, or the item.
"""

from dataclasses import dataclass

import msgspec

from windlass.dialects.fields import Fields, only_texts
from windlass.dialects.flow.draft import Draft, WrittenNode
from windlass.dialects.flow.mappings import (
    POST_FIELDS,
    PREP_FIELDS,
    RETRY_FIELDS,
    read_input,
    read_output,
    read_retry,
)
from windlass.dialects.flow.targets import CALL_FIELDS, NO_CALL, CallFields, read_call, target_of
from windlass.dialects.plain import is_list, under
from windlass.model.graph import Kind, Node, Ref, Retry, Strategy

_ITEM_FIELDS = CALL_FIELDS | RETRY_FIELDS | {"params", "post", "timeout_ms", "index", "node"}
"""An entry of `foreach_execs`. PocketFlow has one spec for all lists, so `node` may stand in it."""
_BRANCH_FIELDS = _ITEM_FIELDS | {"prep"}
"""An entry of `parallel_execs`; it may read an input of its own, where an item is its input."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """A spec as read: what a branch does differently from its container."""

    where: str
    call: CallFields
    params: dict[str, object]
    input: Ref | dict[str, Ref] | None
    retry: Retry
    timeout_ms: int


def lower_parallel(
    node: Node, entry: WrittenNode, call: CallFields, written: frozenset[str], draft: Draft
) -> Node:
    """A parallel node, with its branches added to the draft."""
    branches = _parallel_branches(node, entry, written)
    if not branches:
        hint = "give parallel_execs or parallel_services"
        draft.problems.add(entry.where, "the parallel node has no branches", hint)
    if draft.admit(len(branches), entry.where):
        for index, branch in enumerate(branches):
            _add_branch(str(index), branch, node, call, draft)
    return msgspec.structs.replace(_fan_out(node, entry), branches=len(branches))


def lower_foreach(node: Node, entry: WrittenNode, call: CallFields, draft: Draft) -> Node:
    """A foreach node, with the node of any item, and those of single items, added to the draft."""
    own: dict[int, _Branch] = {}
    for position, (spec, branch) in enumerate(_specs("foreach_execs", _ITEM_FIELDS, node, entry)):
        index = spec.whole("index", position)
        if index in own:
            hint = "an entry without an index is for the item of its own position"
            spec.problems.add(spec.at("index"), f"item {index} has an entry already", hint)
        own[index] = branch
    if draft.admit(1 + len(own), entry.where):
        _add_branch("*", _plain(entry.where, NO_CALL, node), node, call, draft)
        for index, branch in own.items():
            _add_branch(str(index), branch, node, call, draft)
    return msgspec.structs.replace(_fan_out(node, entry), overrides=frozenset(own))


def _fan_out(node: Node, entry: WrittenNode) -> Node:
    mode = entry.fields.one_of("parallel_mode", ("sequential", "concurrent"))
    most = entry.fields.whole("max_parallel", low=-(2**31))  # nothing below 1 is a bound
    return msgspec.structs.replace(node, concurrent=mode == "concurrent", parallel_max=max(0, most))


def _parallel_branches(node: Node, entry: WrittenNode, written: frozenset[str]) -> list[_Branch]:
    """The first of three ways to say what runs side by side that says something."""
    fields = entry.fields
    specs = [branch for _, branch in _specs("parallel_execs", _BRANCH_FIELDS, node, entry, written)]
    if specs:
        return specs
    where = fields.at("parallel_services")
    services = fields.texts("parallel_services")
    dynamic = node.params.get("services")
    if not services and is_list(dynamic):
        where = under(fields.at("params"), "services")
        services = only_texts(dynamic, where, fields.problems)
    for index, service in enumerate(services):
        fields.check_name(service, under(where, index))
    return [
        _plain(under(where, index), CallFields(service=service), node)
        for index, service in enumerate(services)
    ]


def _specs(
    name: str,
    known: frozenset[str],
    node: Node,
    entry: WrittenNode,
    written: frozenset[str] = frozenset(),
) -> list[tuple[Fields, _Branch]]:
    found: list[tuple[Fields, _Branch]] = []
    for index, item in enumerate(entry.fields.items(name)):
        where = under(entry.fields.at(name), index)
        spec = Fields(item, where, known, entry.fields.problems)
        # A branch's result goes into its container's list; its `post` is checked, not used.
        read_output(spec.within("post", POST_FIELDS))
        branch = _Branch(
            where,
            read_call(spec),
            spec.mapping("params"),
            read_input(spec.within("prep", PREP_FIELDS), written),
            read_retry(spec, _branch_retry(node)),
            spec.whole("timeout_ms", node.timeout_ms),
        )
        found.append((spec, branch))
    return found


def _plain(where: str, call: CallFields, node: Node) -> _Branch:
    return _Branch(where, call, {}, None, _branch_retry(node), node.timeout_ms)


def _branch_retry(node: Node) -> Retry:
    """A branch retries as its container says; strategy `retry` asks for one retry at least."""
    if node.strategy is Strategy.RETRY and node.retry.retries_max == 0:
        return msgspec.structs.replace(node.retry, retries_max=1)
    return node.retry


def _add_branch(key: str, branch: _Branch, node: Node, call: CallFields, draft: Draft) -> None:
    draft.add(
        Node(
            path=f"{node.path}/{key}",
            kind=Kind.CALL,
            target=target_of(branch.call.over(call), branch.where, draft.problems),
            params=branch.params,
            input=branch.input,
            retry=branch.retry,
            timeout_ms=branch.timeout_ms,
            by_load=node.by_load,
            limits=node.limits,
            budget=node.budget,
            env=node.env,
            env_kind=node.env_kind,
            env_keep_ms=node.env_keep_ms,
        )
    )
