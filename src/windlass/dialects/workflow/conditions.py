"""Conditions: `{"path": "results.done", "equals": true}`, `{"any": […]}`, or a path alone."""

from collections.abc import Callable

from windlass.dialects.fields import Problems
from windlass.dialects.flow.conditions import DEPTH_MAX
from windlass.dialects.flow.refs import literal
from windlass.dialects.plain import is_list, is_object, under
from windlass.dialects.workflow.bindings import parse_place, parse_prefix
from windlass.dialects.workflow.shape import Binding
from windlass.model.graph import Expr, Ref

OPERATORS = {
    "equals": "eq",
    "notEquals": "ne",
    "gt": "gt",
    "gte": "ge",
    "lt": "lt",
    "lte": "le",
    "in": "in",
    "contains": "contains",
}
"""Comparisons with a fixed value, and what the kernel calls them."""

FIELDS = frozenset({"path", "prefix", "exists", "all", "any", "not", *OPERATORS})

_NEVER = Expr("or")
"""Stands in for a condition with a problem; it never gets to run."""

_EXAMPLE = 'a condition looks like {"path": "results.done", "equals": true}'

Resolve = Callable[[Binding, str], Ref | None]
"""What a place in a condition refers to; None, with a problem noted, if to nothing."""


class Conditions:
    """Reads conditions that are about the same things."""

    def __init__(self, resolve: Resolve, problems: Problems) -> None:
        self._resolve = resolve
        self._problems = problems

    def read(self, value: object, where: str, depth: int = 0) -> Expr:
        if depth >= DEPTH_MAX:
            self._problems.add(where, f"the condition nests deeper than {DEPTH_MAX} levels")
            return _NEVER
        if isinstance(value, str):
            return self._true(value, where)
        if not is_object(value):
            self._problems.wrong_type(where, value, "a condition or a path")
            return _NEVER
        unknown = [name for name in value if name not in FIELDS]
        for name in unknown:
            hint = self._problems.closest(name, FIELDS) or _EXAMPLE
            self._problems.add(under(where, name), f'"{name:.60}" is not an operator', hint)
        if unknown:
            return _NEVER
        parts = [*self._groups(value, where, depth), *self._comparisons(value, where)]
        if not parts:
            self._problems.add(where, "the condition says nothing", _EXAMPLE)
        return parts[0] if len(parts) == 1 else Expr("and", tuple(parts))

    def _groups(self, value: dict[str, object], where: str, depth: int) -> list[Expr]:
        """`all`, `any` and `not`, each with conditions inside."""
        parts: list[Expr] = []
        for name, op in (("all", "and"), ("any", "or")):
            if name not in value:
                continue
            items, at = value[name], under(where, name)
            if not is_list(items) or not items:
                self._problems.add(at, "expected a list of conditions", _EXAMPLE)
                continue
            inner = (self.read(item, under(at, i), depth + 1) for i, item in enumerate(items))
            parts.append(Expr(op, tuple(inner)))
        if "not" in value:
            parts.append(Expr("not", (self.read(value["not"], under(where, "not"), depth + 1),)))
        return parts

    def _comparisons(self, value: dict[str, object], where: str) -> list[Expr]:
        """What is said about the value at `path`; several things must all hold."""
        named = [name for name in value if name in OPERATORS or name == "exists"]
        if "path" not in value:
            if named or "prefix" in value:
                self._problems.add(under(where, "path"), "is missing", _EXAMPLE)
            return []
        ref = self._place(value, where)
        if ref is None:
            return [_NEVER]
        if not named:
            return [Expr("eq", (ref, literal(True)))]
        return [self._compare(name, value[name], ref, under(where, name)) for name in named]

    def _compare(self, name: str, value: object, ref: Ref, where: str) -> Expr:
        if name == "exists":
            if not isinstance(value, bool):
                self._problems.wrong_type(where, value, "true or false")
            there = Expr("exists", (ref,))
            return there if value else Expr("not", (there,))
        if name == "in" and not is_list(value):
            self._problems.wrong_type(where, value, "a list of values")
        return Expr(OPERATORS[name], (ref, literal(value)))

    def _true(self, text: str, where: str) -> Expr:
        ref = self._place({"path": text}, where)
        return _NEVER if ref is None else Expr("eq", (ref, literal(True)))

    def _place(self, value: dict[str, object], where: str) -> Ref | None:
        text, prefix = value["path"], value.get("prefix")
        if not isinstance(text, str):
            self._problems.wrong_type(under(where, "path"), text, "a path")
            return None
        place = parse_place(text, where, self._problems)
        target: tuple[str, tuple[str, ...]] | None = ("", ())
        if isinstance(prefix, str) and prefix:
            target = parse_prefix(prefix, under(where, "prefix"), self._problems)
        if place is None or target is None:
            return None
        return self._resolve(Binding(*place, *target), where)
