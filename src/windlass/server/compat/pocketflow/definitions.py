"""What a flow's text says of its nodes, for lines that show them as they were written."""

from typing import Any
from urllib.parse import unquote

import msgspec

from windlass.model.values import is_list, is_object

Json = dict[str, Any]

_KEYS = {"timer": "delay_ms", "wait": "signal_key", "approval": "approval_key"}
"""By kind of task: the parameter that stands where others say what they read."""
_INTERPRETERS = {"python": "python3", "javascript": "node", "": "bash"}


def node_at(definition: object, path: str) -> Json:
    """The node at a path of the graph, or the container whose branch it is; {} if there is none."""
    node: Json = {}
    body = definition
    for key in path.split("/"):
        nodes = field(body, "nodes")
        found = nodes.get(unquote(key)) if is_object(nodes) else None
        if not is_object(found):
            return node
        node, body = found, field(found, "subflow")
    return node


def field(value: object, name: str) -> Any:
    """A field of an object, in whatever case it is written."""
    if not is_object(value):
        return None
    return next((item for key, item in value.items() if key.lower() == name), None)


def prep_json(node: Json, kind: str, *, branch: object = None, sub: str = "") -> str:
    """What a node run says it was prepared with."""
    if branch is not None:
        return _text({"branch": branch})
    if kind in _KEYS:
        return _text({_KEYS[kind]: field(field(node, "params"), _KEYS[kind])})
    prepared = {"input_key": field(field(node, "prep"), "input_key") or ""}
    return _text(prepared | ({"sub": sub} if sub else {}))


def branch_service(node: Json, index: int) -> str:
    """What a branch of a parallel node goes by: the service, or function, it calls."""
    specs = field(node, "parallel_execs")
    if is_list(specs) and 0 <= index < len(specs):
        named = field(specs[index], "service") or field(specs[index], "func")
        named = named or field(node, "service") or field(node, "func")
    else:
        names = field(node, "parallel_services") or field(field(node, "params"), "services")
        named = names[index] if is_list(names) and 0 <= index < len(names) else None
    return named if isinstance(named, str) and named else str(index)


def script_command(node: Json, index: int) -> str:
    """The program a node, or one of its branches, runs."""
    script = field(node, "script")
    for name in ("parallel_execs", "foreach_execs"):
        specs = field(node, name)
        if is_list(specs) and 0 <= index < len(specs):
            script = field(specs[index], "script") or script
    language = str(field(script, "language") or "")
    return str(field(script, "cmd") or _INTERPRETERS.get(language, language))


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
