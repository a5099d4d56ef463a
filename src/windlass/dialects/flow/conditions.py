"""Conditions of a choice: `{"and": [{"eq": ["$params.path", "B"]}, "$shared.ready"]}` to `Expr`."""

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.flow.refs import literal, parse_ref
from windlass.dialects.plain import is_list, is_object, under
from windlass.model.graph import Case, Expr, Ref

OPERATORS = ("and", "or", "not", "eq", "ne", "gt", "lt", "ge", "le", "exists", "in", "contains")

DEPTH_MAX = 32
"""Operators inside operators: no person writes more, and evaluation recurses this deep."""

_NO_OPERANDS: list[object] = []
_NEVER = Expr("or")
"""A condition that never holds; it also stands in for one with a problem."""

_EXAMPLE = 'a condition looks like {"eq": ["$params.path", "B"]}'


def read_cases(fields: Fields) -> tuple[Case, ...]:
    """The cases of a choice, in the order they are tried."""
    cases: list[Case] = []
    for index, item in enumerate(fields.items("choice_cases")):
        where = under(fields.at("choice_cases"), index)
        case = Fields(item, where, ("action", "expr"), fields.problems)
        action = case.text("action")
        if not action:
            hint = "name the action of the edge to follow"
            fields.problems.add(case.at("action"), "the case has no action", hint)
        if not case.has("expr"):
            fields.problems.add(case.at("expr"), "the case has no condition", _EXAMPLE)
            continue
        cases.append(
            Case(action, parse_condition(case.raw("expr"), case.at("expr"), case.problems))
        )
    return tuple(cases)


def parse_condition(value: object, where: str, problems: Problems, depth: int = 0) -> Expr:
    """A condition; a value that is no object holds if it equals true."""
    if depth >= DEPTH_MAX:
        problems.add(where, f"the condition nests deeper than {DEPTH_MAX} operators")
        return _NEVER
    if is_object(value):
        return _operation(value, where, problems, depth)
    if is_list(value) or (isinstance(value, str) and not value.startswith("$")):
        # A list or a fixed text never equals true: somebody meant something else by it.
        problems.wrong_type(where, value, "a condition or a reference")
        return _NEVER
    return Expr("eq", (_operand(value, where, problems), literal(True)))


def _operation(value: dict[str, object], where: str, problems: Problems, depth: int) -> Expr:
    unknown = [name for name in value if name not in OPERATORS]
    for name in unknown:
        hint = problems.closest(name, OPERATORS) or "known are " + ", ".join(OPERATORS)
        problems.add(under(where, name), f'"{name:.60}" is not an operator', hint)
    if unknown:
        return _NEVER
    if len(value) != 1:
        hint = 'combine conditions with "and" or "or"' if value else _EXAMPLE
        problems.add(where, f"{len(value)} operators stand here, expected one", hint)
        return _NEVER
    [(op, given)] = value.items()
    where = under(where, op)
    if given is None and op not in ("not", "exists"):
        given = _NO_OPERANDS  # as in YAML, where nothing stands after `eq:`
    match op:
        case "and" | "or":
            if not is_list(given):
                problems.wrong_type(where, given, "a list of conditions")
                return _NEVER
            parts = enumerate(given)
            return Expr(
                op,
                tuple(parse_condition(p, under(where, i), problems, depth + 1) for i, p in parts),
            )
        case "not":
            return Expr(op, (parse_condition(given, where, problems, depth + 1),))
        case "exists":
            return Expr(op, (_operand(given, where, problems),))
        case _:
            return _comparison(op, given, where, problems)


def _comparison(op: str, given: object, where: str, problems: Problems) -> Expr:
    """Two values compared. With more or fewer of them the condition does not hold, as the dialect
    has always had it; flows that rely on it are not refused."""
    if not is_list(given):
        problems.wrong_type(where, given, "a list of two values")
        return _NEVER
    if len(given) != 2:
        return _NEVER
    left, right = (_operand(item, under(where, i), problems) for i, item in enumerate(given))
    return Expr(op, (left, right))


def _operand(value: object, where: str, problems: Problems) -> Ref:
    if isinstance(value, str) and value.startswith("$"):
        return parse_ref(value, where, problems) or literal(None)
    return literal(value)
