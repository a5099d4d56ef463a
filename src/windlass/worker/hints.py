"""A handler's type hints, enforced: JSON that does not fit a parameter never reaches it."""

import functools
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

import msgspec
from msgspec import inspect as shapes

Convert = Callable[[Any], Any]


def converters(
    handler: Callable[..., Any], parameters: Mapping[str, Parameter]
) -> dict[str, Convert]:
    """By parameter, what makes a value of its type from JSON; it raises ValueError if it cannot.

    A hint that stands for nothing JSON can be, such as a class of one's own, is left alone.
    """
    try:
        hints = typing.get_type_hints(handler)
    except (NameError, TypeError, AttributeError):
        return {}  # annotations that cannot be read now are no reason to refuse the handler
    found: dict[str, Convert] = {}
    for name, parameter in parameters.items():
        convert = _converter(hints.get(name, Any))
        if convert is not None:
            found[name] = _or_none(convert) if parameter.default is None else convert
    return found


def _converter(hint: Any) -> Convert | None:
    validate = getattr(hint, "model_validate", None)
    if isinstance(hint, type) and callable(validate):
        return typing.cast(Convert, validate)
    try:
        shape = shapes.type_info(hint)
    except TypeError:
        return None
    if isinstance(shape, shapes.AnyType) or _has_custom(shape, set()):
        return None
    return functools.partial(_converted, hint=hint)


def _converted(value: Any, hint: Any) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        if isinstance(value, float) and value.is_integer():
            return msgspec.convert(int(value), hint)  # JSON has one kind of number: 3.0 is 3
        raise


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _has_custom(shape: object, seen: set[int]) -> bool:
    """Whether some part of a type is a class that JSON says nothing about."""
    if isinstance(shape, shapes.CustomType):
        return True
    if id(shape) in seen:
        return False  # types may contain themselves
    seen.add(id(shape))
    if isinstance(shape, tuple):
        return any(_has_custom(part, seen) for part in typing.cast("tuple[object, ...]", shape))
    if isinstance(shape, shapes.Type | shapes.Field):
        parts = (getattr(shape, name) for name in shape.__struct_fields__ if name != "cls")
        return any(_has_custom(part, seen) for part in parts)
    return False
