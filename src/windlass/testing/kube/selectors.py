"""Label and field selectors, as lists and watches of Kubernetes take them."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from windlass.testing.kube.problems import ApiError

Json = dict[str, Any]
Matches = Callable[[Json], bool]

_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_TERMS = re.compile(r",(?![^(]*\))")
_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.restartPolicy",
    "status.phase",
)


def selector(labels: str, fields: str, known: Collection[str] = _FIELDS) -> Matches:
    """Whether an object is chosen by both; an empty selector chooses everything. Each kind of
    object is known by fields of its own."""
    of_labels = [_term(term) for term in _TERMS.split(labels) if term.strip()]
    of_fields = [_comparison(term) for term in fields.split(",") if term.strip()]
    for key, _, _ in of_fields:
        if key not in known:
            raise ApiError(400, "BadRequest", f'field label not supported: "{key}"')

    def matches(found: Json) -> bool:
        metadata = found["metadata"]
        labels_of: Mapping[str, str] = metadata.get("labels") or {}
        return all(test(labels_of) for test in of_labels) and all(
            (_field(found, key) == value) is equal for key, value, equal in of_fields
        )

    return matches


def _field(found: Json, path: str) -> str:
    value: Any = found
    for name in path.split("."):
        value = cast(Json, value).get(name) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _comparison(term: str) -> tuple[str, str, bool]:
    """Key, value and whether they are to be equal."""
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        key, found, value = term.partition(operator)
        if found:
            return key.strip(), value.strip(), equal
    raise ApiError(400, "BadRequest", f"unable to parse requirement: {term!r}")


def _term(term: str) -> Callable[[Mapping[str, str]], bool]:
    listed = _SET.match(term)
    if listed:
        name, operator, text = listed.groups()
        values = {value.strip() for value in text.split(",")}
        if operator == "in":
            return lambda labels: labels.get(name) in values
        return lambda labels: labels.get(name) not in values
    bare = term.strip()
    if not re.search(r"[=!]", bare):
        return lambda labels: bare in labels
    if bare.startswith("!") and "=" not in bare:
        return lambda labels: bare[1:] not in labels
    key, wanted, equal = _comparison(bare)
    if equal:
        return lambda labels: labels.get(key) == wanted
    return lambda labels: labels.get(key) != wanted
