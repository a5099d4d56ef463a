"""One node of a definition to a Node of the graph, kind by kind."""

import msgspec

from windlass.dialects.budgets import read_budget_field
from windlass.dialects.envs import read_env
from windlass.dialects.fields import WHOLE_MAX, Fields, Problems, shown_number
from windlass.dialects.flow.conditions import read_cases
from windlass.dialects.flow.draft import Draft, Override, Scope, WrittenNode
from windlass.dialects.flow.fanout import lower_foreach, lower_parallel
from windlass.dialects.flow.limits import read_limits
from windlass.dialects.flow.mappings import RETRY_FIELDS, read_action, read_input, read_retry
from windlass.dialects.flow.plans import PLAN_FIELDS, lower_plan
from windlass.dialects.flow.refs import literal, parse_key, parse_ref
from windlass.dialects.flow.subflows import lower_subflow
from windlass.dialects.flow.targets import CALL_FIELDS, CallFields, read_call, target_of
from windlass.dialects.plain import under
from windlass.model.graph import Kind, Node, Ref, Retry, Strategy, Verification
from windlass.model.verification import read_verification

_EVERY_KIND = {
    "kind",
    "params",
    "prep",
    "post",
    "default_action",
    "timeout_ms",
    "weighted_by_load",
    "limits",
    "budget",
    "env",
}
_FAN_OUT = {"parallel_services", "parallel_execs", "parallel_mode", "max_parallel", "foreach_execs"}
_INNER = {"choice_cases", "subflow", "subflow_execs", "failure_strategy"}
_OWN = PLAN_FIELDS | {"verification"}
NODE_FIELDS = CALL_FIELDS | RETRY_FIELDS | _EVERY_KIND | _FAN_OUT | _INNER | _OWN

_KINDS = {
    "executor": Kind.CALL,
    "remote": Kind.CALL,
    "local": Kind.CALL,
    "choice": Kind.CHOICE,
    "parallel": Kind.PARALLEL,
    "foreach": Kind.FOREACH,
    "subflow": Kind.SUBFLOW,
    "timer": Kind.TIMER,
    "wait_event": Kind.WAIT,
    "approval": Kind.APPROVAL,
    "plan": Kind.PLAN,
}
_WITH_STRATEGY = frozenset({Kind.PARALLEL, Kind.FOREACH, Kind.SUBFLOW, Kind.WAIT})
_STRATEGIES = frozenset(Strategy) - {Strategy.DEFAULT}
_CALLING = frozenset({Kind.CALL, Kind.PARALLEL, Kind.FOREACH})
_LIMITED = _CALLING | {Kind.SUBFLOW, Kind.PLAN}


def lower_node(entry: WrittenNode, scope: Scope, written: frozenset[str], draft: Draft) -> None:
    """Add a node, its branches, and its inner scope to the draft."""
    node = _common(entry, written)
    _check_limits(node, entry.fields)
    if scope.limits:
        node = msgspec.structs.replace(node, limits=(*scope.limits, *node.limits))
    call = read_call(entry.fields)
    if draft.problems.noted(entry.fields.at("kind")):
        draft.add(node)
        return
    override = scope.overrides.get(entry.key)
    if override is not None:
        node = msgspec.structs.replace(node, params={**node.params, **override.params})
        call = _overridden(call, override, node.kind, draft.problems)
    call = call.over(scope.call)
    match node.kind:
        case Kind.CALL:
            target = target_of(call, entry.where, draft.problems)
            verification = _verification(entry.fields, planned=False)
            node = msgspec.structs.replace(node, target=target, verification=verification)
        case Kind.CHOICE:
            node = msgspec.structs.replace(node, cases=read_cases(entry.fields))
        case Kind.PARALLEL:
            node = lower_parallel(node, entry, call, written, draft)
        case Kind.FOREACH:
            node = lower_foreach(node, entry, call, draft)
        case Kind.SUBFLOW:
            lower_subflow(node, entry, call, scope.level, draft)
        case Kind.PLAN:
            judged = _verification(entry.fields, planned=True)
            node = msgspec.structs.replace(lower_plan(node, entry), verification=judged)
        case Kind.TIMER:
            node = _timer(node, entry.fields)
        case _:
            node = _waiting(node, entry.fields)
    draft.add(node)


def _common(entry: WrittenNode, written: frozenset[str]) -> Node:
    """The fields every kind has."""
    fields = entry.fields
    kind = _KINDS.get(fields.one_of("kind", _KINDS), Kind.CALL)
    if kind not in (Kind.CALL, Kind.PLAN) and fields.has("verification"):
        hint = "verify a node that calls something"
        fields.problems.add(fields.at("verification"), "nothing here makes a claim", hint)
    return Node(
        path=entry.path,
        kind=kind,
        params=fields.mapping("params"),
        input=read_input(entry.prep, written),
        output=entry.output,
        action=read_action(entry.post, fields.name("default_action")),
        retry=read_retry(fields, Retry()),
        timeout_ms=fields.whole("timeout_ms"),
        strategy=_strategy(fields, kind),
        by_load=fields.flag("weighted_by_load"),
        limits=read_limits(fields),
        budget=read_budget_field(fields),
        **read_env(fields).columns(),
    )


def _verification(fields: Fields, *, planned: bool) -> Verification | None:
    if not fields.has("verification"):
        return None
    found = read_verification(
        fields.raw("verification"), fields.at("verification"), planned=planned
    )
    if isinstance(found, Verification):
        return found
    for problem in found:
        fields.problems.add(problem.path, problem.reason, problem.hint)
    return None


def _check_limits(node: Node, fields: Fields) -> None:
    if node.limits and node.kind not in _LIMITED:
        hint = "put them on the nodes that call something, or on the flow"
        fields.problems.add(fields.at("limits"), f"a {node.kind} node calls nothing", hint)
    if node.budget and node.kind not in _CALLING:
        hint = "put it on the nodes that call something, or on the flow for the whole run"
        fields.problems.add(fields.at("budget"), f"a {node.kind} node uses nothing up", hint)
    if node.env and node.kind not in _CALLING:
        hint = "put it on the nodes that call something"
        fields.problems.add(fields.at("env"), f"a {node.kind} node is done nowhere", hint)


def _strategy(fields: Fields, kind: Kind) -> Strategy:
    word = fields.one_of("failure_strategy", _STRATEGIES)
    if word and kind not in _WITH_STRATEGY:
        reason = "this kind of node has no failure strategy"
        hint = "use max_retries, or an edge with the action error"
        fields.problems.add(fields.at("failure_strategy"), reason, hint)
    return Strategy(word) if word else Strategy.DEFAULT


def _overridden(call: CallFields, override: Override, kind: Kind, problems: Problems) -> CallFields:
    """A call replaced as a whole: half of one target and half of another would call neither."""
    if override.call == CallFields():
        return call
    if kind not in _CALLING:
        problems.add(override.where, f"the {kind} node it names calls nothing", "give params only")
    return override.call


def _timer(node: Node, fields: Fields) -> Node:
    if node.params.get("delay_ms") is None:
        hint = 'in milliseconds, or as a reference like "$params.pause_ms"'
        fields.problems.add(_param(fields, "delay_ms"), "the timer has no delay", hint)
    return msgspec.structs.replace(node, delay=_millis(node, fields, "delay_ms"))


def _waiting(node: Node, fields: Fields) -> Node:
    """A wait or an approval: what it waits for, and how long."""
    name = "signal_key" if node.kind is Kind.WAIT else "approval_key"
    key, where = node.params.get(name), _param(fields, name)
    signal = None
    if isinstance(key, str) and key:
        fields.check_name(key, where)
        signal = parse_key(key, where, fields.problems)
    elif key is not None and key != "":
        fields.problems.wrong_type(where, key, "text")
    elif node.kind is Kind.WAIT:
        hint = 'name a value, as in "$shared.paid"'
        fields.problems.add(where, "the node waits for nothing", hint)
    timeout = _millis(node, fields, "timeout_ms")
    if timeout == literal(0):
        timeout = None  # PocketFlow's way to wait for ever
    prompt = _prompt(node, fields) if node.kind is Kind.APPROVAL else ""
    return msgspec.structs.replace(node, signal=signal, wait_timeout=timeout, prompt=prompt)


def _prompt(node: Node, fields: Fields) -> str:
    prompt = node.params.get("prompt")
    if isinstance(prompt, str):
        return prompt
    if prompt is not None:
        fields.problems.wrong_type(_param(fields, "prompt"), prompt, "text")
    return ""


def _millis(node: Node, fields: Fields, name: str) -> Ref | None:
    """A span in milliseconds: a number, or a reference to one."""
    value: object = node.params.get(name)
    where = _param(fields, name)
    match value:
        case None:
            return None
        case str() if value.startswith("$") and not value.startswith("$$"):
            return parse_ref(value, where, fields.problems)
        case int() | float() if not isinstance(value, bool):
            if not 0 <= value <= WHOLE_MAX:
                reason = "is out of range, expected milliseconds from 0 up"
                fields.problems.add(where, f"{shown_number(value)} {reason}")
            return literal(value)
        case _:
            fields.problems.wrong_type(where, value, "milliseconds or a reference to them")
            return None


def _param(fields: Fields, name: str) -> str:
    return under(fields.at("params"), name)
