"""Ports: what a node's `ui` declares, and what the end of an edge means."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_list, is_object, under
from windlass.dialects.workflow.bindings import read_binding
from windlass.dialects.workflow.shape import End, Port, Ports, WorkflowNode

INPUT, OUTPUT = "input", "output"

_MIDDLEWARE = "mw:"


def read_ports(ui: object, where: str, problems: Problems) -> Ports:
    """The ports of a `ui` object; what else an editor keeps there is none of our business."""
    if not is_object(ui):
        if ui is not None:
            problems.wrong_type(where, ui, "an object")
        return Ports()
    return Ports(
        _read_list(ui.get("inputPorts"), under(where, "inputPorts"), problems),
        _read_list(ui.get("outputPorts"), under(where, "outputPorts"), problems),
    )


def _read_list(value: object, where: str, problems: Problems) -> dict[str, Port]:
    ports: dict[str, Port] = {}
    if value is None:
        return ports
    if not is_list(value):
        problems.wrong_type(where, value, "a list")
        return ports
    for index, item in enumerate(value):
        at = under(where, index)
        key = item.get("key") if is_object(item) else None
        if not is_object(item) or not isinstance(key, str) or not key:
            problems.add(at, "a port is an object with a key")
        elif key in ports:
            problems.add(under(at, "key"), f'another port is called "{key:.60}" too')
        else:
            bound = item.get("binding")
            at_binding = under(at, "binding")
            binding = None if bound is None else read_binding(bound, at_binding, problems)
            ports[key] = Port(key, at, binding)
    return ports


class Landing(NamedTuple):
    """What one end of an edge is tied to: a node or one of its middlewares, and a port of it."""

    entry: WorkflowNode
    port: Port | None
    """None where there is nothing to carry: the edge is for order only."""
    middleware: bool = False


def find_port(entry: WorkflowNode, end: End, side: str, problems: Problems) -> Landing:
    """The port an edge's end names, with a warning where there are ports but not this
    one: such an edge carries nothing."""
    owner, key, middleware = entry, end.port, False
    if key.startswith(_MIDDLEWARE):
        named, key = _middleware_port(entry, end, side, problems)
        if named is None:
            return Landing(entry, None)
        owner, middleware = named, True
    known = owner.ports.inputs if side == INPUT else owner.ports.outputs
    port = known.get(key)
    if port is None and key and owner.ports.declared:
        hint = problems.closest(key, known) or _known_ports(known)
        reason = f'node "{owner.label:.60}" has no {side} port "{key:.60}"'
        problems.warn(under(end.where, "port"), f"{reason}; the edge is for order only", hint)
    return Landing(owner, port, middleware)


def _middleware_port(
    entry: WorkflowNode, end: End, side: str, problems: Problems
) -> tuple[WorkflowNode | None, str]:
    """The middleware a key like `mw:<id>:input:<port>` names, and the port's own key."""
    parts = end.port.split(":", 3)
    where = under(end.where, "port")
    if len(parts) < 4 or parts[2] not in (INPUT, OUTPUT):
        hint = f"write mw:<middleware id>:{side}:<port>"
        problems.add(where, f'"{end.port:.80}" is not a port of a middleware', hint)
        return None, ""
    if parts[2] != side:
        problems.add(where, f"an {parts[2]} port cannot be the {_ENDS[side]} of an edge")
        return None, ""
    named = next((mw for mw in entry.middlewares if mw.id == parts[1]), None)
    if named is None:
        hint = problems.closest(parts[1], [mw.id for mw in entry.middlewares])
        reason = f'node "{entry.label:.60}" has no middleware "{parts[1]:.60}"'
        problems.add(where, reason, hint)
    return named, parts[3]


_ENDS = {INPUT: "target", OUTPUT: "source"}


def _known_ports(known: Iterable[str]) -> str:
    names = list(islice(known, 8))
    return "known are " + ", ".join(names) if names else "it has none on that side"
