"""Nodes and middlewares as they are written."""

from windlass.dialects.envs import read_env
from windlass.dialects.fields import Problems
from windlass.dialects.flow.limits import read_limits
from windlass.dialects.plain import is_object, under
from windlass.dialects.workflow.containers import is_container, read_container
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.plans import check_extras, is_plan
from windlass.dialects.workflow.ports import read_ports
from windlass.dialects.workflow.retries import read_affinity, read_retry
from windlass.dialects.workflow.schemas import readable_schema
from windlass.dialects.workflow.shape import Json, Package, Schemas, WorkflowNode
from windlass.model.graph import Verification
from windlass.model.verification import read_verification

NODE_FIELDS = frozenset(
    {
        "id",
        "type",
        "package",
        "label",
        "position",
        "parameters",
        "results",
        "schema",
        "ui",
        "status",
        "category",
        "role",
        "description",
        "tags",
        "layout",
        "state",
        "middlewares",
        "conditions",
        "extensions",
        "metadata",
        "affinity",
        "retry",
        "timeoutMs",
        "env",
        "limits",
        "runtime",
        "verification",
    }
)
ROLES = ("node", "container", "middleware")
_ID_CHARS_MAX = 200


def read_node(value: object, where: str, problems: Problems) -> WorkflowNode | None:
    """One node; None if it cannot even be named."""
    fields = Exact(value, where, NODE_FIELDS, problems)
    node_id = fields.uuid("id")
    middlewares = _read_middlewares(fields, problems)
    if not node_id:
        return None
    return _read_entry(fields, node_id, middlewares, problems)


def _read_middlewares(fields: Exact, problems: Problems) -> tuple[WorkflowNode, ...]:
    found: dict[str, WorkflowNode] = {}
    for index, item in enumerate(fields.items("middlewares")):
        where = under(fields.at("middlewares"), index)
        own = Exact(item, where, NODE_FIELDS, problems)
        key = own.needed("id", "give every middleware an id of its own")
        if ":" in key or len(key) > _ID_CHARS_MAX or key in ("host", "body", "again"):
            reason = f'"{key:.60}" cannot be the id of a middleware'
            problems.add(own.at("id"), reason, "a UUID will do; a colon divides the keys of ports")
        elif key in found:
            problems.add(own.at("id"), f'another middleware has the id "{key:.60}" too')
        for name in ("middlewares", "conditions"):
            if own.raw(name):
                hint = "give it to the node whose middleware it is"
                problems.add(own.at(name), f"a middleware has no {name}", hint)
        entry = _read_entry(own, key, (), problems)
        if entry.container is not None:
            problems.add(own.at("type"), "a container cannot be a middleware")
        found.setdefault(key, entry)
    return tuple(found.values())


def _read_entry(
    fields: Exact, node_id: str, middlewares: tuple[WorkflowNode, ...], problems: Problems
) -> WorkflowNode:
    type_ = fields.needed("type", "name a node type of a package")
    role = fields.one_of("role", ROLES)
    parameters = fields.mapping("parameters")
    conditions = fields.within("conditions", ("when",))
    inside = is_container(type_, role)
    return WorkflowNode(
        node_id,
        fields.where,
        type_,
        fields.text("label") or type_ or node_id,
        _read_package(fields),
        {key: value for key, value in parameters.items() if not inside or key != "__container"},
        fields.mapping("results"),
        _read_schemas(fields, problems),
        read_ports(fields.raw("ui"), fields.at("ui"), problems),
        condition=conditions.raw("when") or None,
        condition_at=conditions.at("when"),
        container=read_container(parameters, fields.at("parameters"), problems) if inside else None,
        middlewares=middlewares,
        retry=read_retry(fields),
        timeout_ms=fields.whole("timeoutMs"),
        affinity=read_affinity(fields),
        strict=is_strict(fields.raw("extensions")),
        env=read_env(fields),
        limits=read_limits(fields),
        runtime=fields.text("runtime"),
        verification=_read_verification(fields, problems, type_, called=not inside),
        is_plan=is_plan(type_),
    )


def _read_verification(
    fields: Exact, problems: Problems, type_: str, *, called: bool
) -> Verification | None:
    """Who must accept a node's results; of a plan, those of all its tasks."""
    if is_plan(type_):
        check_extras(fields)
    if not fields.has("verification"):
        return None
    where = fields.at("verification")
    if not called:
        problems.add(where, "nothing here makes a claim", "give it to the nodes inside")
        return None
    found = read_verification(fields.raw("verification"), where, planned=is_plan(type_))
    if isinstance(found, Verification):
        return found
    for problem in found:
        problems.add(problem.path, problem.reason, problem.hint)
    return None


def is_strict(notes: object) -> bool:
    """Whether a node's, workflow's or package's own notes ask for results as the schema says."""
    return is_object(notes) and notes.get("strictResults") is True


def _read_package(fields: Exact) -> Package | None:
    if not fields.has("package"):
        return None
    package = fields.within("package", ("name", "version"))
    name = package.needed("name", "name the package this node comes from")
    return Package(name, package.text("version"), package.where)


def _read_schemas(fields: Exact, problems: Problems) -> Schemas:
    if not fields.has("schema"):
        return Schemas()
    schema = fields.within("schema", ("parameters", "results"))
    return Schemas(_schema(schema, "parameters", problems), _schema(schema, "results", problems))


def _schema(fields: Exact, name: str, problems: Problems) -> Json | None:
    if not fields.has(name):
        return None
    return readable_schema(fields.mapping(name), fields.at(name), problems)
