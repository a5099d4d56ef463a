"""A workflow's own inputs and outputs: what a run is given and where that goes, what it gives back.

"inputs": {"url": {"schema": {"type": "string"}, "required": true,
                   "to": [{"node": "…", "path": "parameters.url"}]}}
"outputs": {"title": {"node": "…", "path": "results.title"}}
"""

from collections import defaultdict

from windlass.dialects.fields import Problems
from windlass.dialects.params import read_params_schema
from windlass.dialects.plain import is_object, under
from windlass.dialects.workflow.bindings import parse_place
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.shape import Body, Interface, Path
from windlass.model.graph import Fill, Output, Ref, Root

INPUT_FIELDS = frozenset({"schema", "required", "to"})
PLACE_FIELDS = frozenset({"node", "path"})


def read_interface(fields: Exact, body: Body) -> Interface:
    """The inputs and outputs a definition declares; one without inputs takes no parameters."""
    problems = fields.problems
    fills: defaultdict[str, list[Fill]] = defaultdict(list)
    properties: dict[str, object] = {}
    required: list[str] = []
    for name, value in fields.mapping("inputs").items():
        own = Exact(value, under(fields.at("inputs"), name), INPUT_FIELDS, problems)
        properties[name] = own.mapping("schema")
        # Text is not true: a slip here would let runs start without it.
        required += [name] if own.flag("required") else []
        for index, item in enumerate(own.items("to")):
            where = under(own.at("to"), index)
            place = _read_place(item, where, body, "parameters", problems)
            if place is not None:
                fills[place[0]].append(Fill(place[1], Ref(Root.PARAMS, (name,))))
    schema = {"type": "object", "properties": properties, "required": required}
    params = read_params_schema(schema, fields.at("inputs"), problems)
    return Interface(
        params,
        {node: tuple(found) for node, found in fills.items()},
        _read_outputs(fields, body),
    )


def inputs_schema(definition: object) -> dict[str, object] | None:
    """The JSON Schema of the inputs a checked definition declares; None if it declares none."""
    inputs = definition.get("inputs") if is_object(definition) else None
    if not is_object(inputs) or not inputs:
        return None
    known = {name: one for name, one in inputs.items() if is_object(one)}
    return {
        "type": "object",
        "properties": {name: one.get("schema") or {} for name, one in known.items()},
        "required": [name for name, one in known.items() if one.get("required") is True],
    }


def _read_outputs(fields: Exact, body: Body) -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for name, value in fields.mapping("outputs").items():
        where = under(fields.at("outputs"), name)
        place = _read_place(value, where, body, "results", fields.problems)
        if place is None:
            continue
        node, path = place
        known = outputs.get(node, Output())
        if len(path) > 1 or (not path and known.key):
            hint = 'give "results" once, or single fields of it, as "results.title"'
            fields.problems.add(under(where, "path"), "cannot be given back", hint)
        elif path:
            outputs[node] = Output(known.key, {**known.fields, name: str(path[0])})
        else:
            outputs[node] = Output(name, known.fields)
    return outputs


def _read_place(
    value: object, where: str, body: Body, root: str, problems: Problems
) -> tuple[str, Path] | None:
    """A node of the workflow's own graph, and a place in it."""
    fields = Exact(value, where, PLACE_FIELDS, problems)
    node = fields.needed("node", "name a node by its id")
    text = fields.needed("path", f'name a place, as "{root}.x"')
    entry = body.entries.get(node)
    if node and entry is None:
        hint = problems.closest(node, body.entries) or "a node of a subgraph is reached by edges"
        problems.add(fields.at("node"), f'there is no node "{node:.60}"', hint)
    elif entry is not None and entry.container is not None:
        hint = "name a node that a package executes"
        problems.add(fields.at("node"), "a container takes and gives by its edges", hint)
    found = parse_place(text, fields.at("path"), problems) if text else None
    if found is not None and found[0] != root:
        problems.add(fields.at("path"), f"does not begin at {root}", f'as in "{root}.x"')
        return None
    return (node, found[1]) if found is not None and node else None
