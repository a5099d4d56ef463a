"""Conditions of a choice, as functions: `eq("$params.path", "B")`."""

from typing import Any

Condition = dict[str, Any]
"""A condition as it stands in a definition; a reference alone holds if its value is true."""


def eq(left: Any, right: Any) -> Condition:
    return {"eq": [left, right]}


def ne(left: Any, right: Any) -> Condition:
    return {"ne": [left, right]}


def gt(left: Any, right: Any) -> Condition:
    return {"gt": [left, right]}


def lt(left: Any, right: Any) -> Condition:
    return {"lt": [left, right]}


def ge(left: Any, right: Any) -> Condition:
    return {"ge": [left, right]}


def le(left: Any, right: Any) -> Condition:
    return {"le": [left, right]}


def exists(ref: str) -> Condition:
    return {"exists": ref}


def is_in(value: Any, collection: Any) -> Condition:
    return {"in": [value, collection]}


def contains(collection: Any, value: Any) -> Condition:
    return {"contains": [collection, value]}


def all_of(*conditions: Condition | str) -> Condition:
    return {"and": list(conditions)}


def any_of(*conditions: Condition | str) -> Condition:
    return {"or": list(conditions)}


def not_(condition: Condition | str) -> Condition:
    return {"not": condition}
