"""How a handler's parameters are filled: looked at once, when the handler is registered.

`ctx`, `input` and `params` by name get those. A single other parameter gets the whole input, unless
the input is an object that has a field of its name. Several are filled from the fields of an object
input, then from the params, then by their defaults. What does not fit a parameter's type hint is an
error that no retry would mend.
"""

import inspect
from collections.abc import Callable
from typing import Any

from windlass.worker.context import Context
from windlass.worker.errors import PermanentError
from windlass.worker.hints import converters

Handler = Callable[..., Any]
_WHOLE = ("ctx", "context", "input", "params")


class Binder:
    """Turns an input and params into the arguments of one handler."""

    def __init__(self, handler: Handler) -> None:
        parameters = list(inspect.signature(handler).parameters.values())
        self._all_fields = any(p.kind is p.VAR_KEYWORD for p in parameters)
        named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        self._names = tuple(p.name for p in named)
        self._positional = tuple(p.name for p in named if p.kind is p.POSITIONAL_ONLY)
        self._required = frozenset(p.name for p in named if p.default is p.empty)
        self._fields = tuple(name for name in self._names if name not in _WHOLE)
        self._converters = converters(
            handler, {p.name: p for p in named if p.name not in ("ctx", "context")}
        )

    def arguments(
        self, context: Context, given: Any, params: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments for one call."""
        values: dict[str, Any] = {}
        for name in self._names:
            match name:
                case "ctx" | "context":
                    values[name] = context
                case "input":
                    values[name] = self._converted(name, given)
                case "params":
                    values[name] = self._converted(name, params)
                case _:
                    self._fill(values, name, given, params)
        if self._all_fields and isinstance(given, dict):
            values = {**given, **values}
        positional = [values.pop(name) for name in self._positional if name in values]
        return positional, values

    def _fill(self, values: dict[str, Any], name: str, given: Any, params: dict[str, Any]) -> None:
        if isinstance(given, dict) and name in given:
            values[name] = self._converted(name, given[name])
        elif self._takes_whole(name, given):
            values[name] = self._converted(name, given)
        elif name in params:
            values[name] = self._converted(name, params[name])
        elif name in self._required:
            hint = "send an object with this field, or set it in params"
            raise PermanentError(f'the input has no "{name}", which the service needs: {hint}')

    def _takes_whole(self, name: str, given: Any) -> bool:
        # A parameter with a default that is absent from an object keeps its default.
        if len(self._fields) != 1 or "input" in self._names:
            return False
        return name in self._required or (given is not None and not isinstance(given, dict))

    def _converted(self, name: str, value: Any) -> Any:
        convert = self._converters.get(name)
        if convert is None:
            return value
        try:
            return convert(value)
        except ValueError as error:
            raise PermanentError(f'"{name}" does not fit the service: {error}') from error
