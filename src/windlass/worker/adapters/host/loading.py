"""Finds the handlers of a package: modules imported, attributes walked, classes made once."""

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Handler:
    """Something to call with a context, and whether it may run on the loop."""

    def __init__(self, call: Callable[[Any], Any], mode: str, config: dict[str, Any]) -> None:
        self.call = call
        self.config = config
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004  an object whose call is async
        )
        self.in_thread = mode == "thread" or (mode == "auto" and not self.is_async)


class Loader:
    """Loads entries of one package; each class in it is made once for all of them."""

    def __init__(self, folder: Path, entries: list[dict[str, Any]]) -> None:
        self._entries = {str(entry["type"]): entry for entry in entries}
        self._handlers: dict[str, Handler] = {}
        self._made: dict[type, Any] = {}
        for path in (folder / "adapters", folder):
            if path.is_dir():
                sys.path.insert(0, str(path))

    def handler(self, node_type: str) -> Handler:
        """What runs a type of node; raises whatever the package's own code raises."""
        found = self._handlers.get(node_type)
        if found is None:
            found = self._handlers[node_type] = self._load(self._entries[node_type])
        return found

    def _load(self, entry: dict[str, Any]) -> Handler:
        place: Any = importlib.import_module(entry["module"])
        where = entry["module"]
        for step in entry.get("path") or ():
            place = self._instance(place)
            if not hasattr(place, step):
                raise AttributeError(f"{where} has no {step}")
            place = getattr(place, step)
            where = f"{where}.{step}"
        place = self._instance(place)
        maybe = entry.get("maybe")
        if maybe and hasattr(place, maybe):
            place = getattr(place, maybe)
        for name in ("async_run", "run"):
            if not inspect.isroutine(place) and hasattr(place, name):
                place = getattr(place, name)
                break
        if not callable(place):
            raise TypeError(f"{where} is not callable, and has no run or async_run")
        return Handler(place, entry.get("exec_mode", "auto"), entry.get("config") or {})

    def _instance(self, place: Any) -> Any:
        if not isinstance(place, type):
            return place
        if place not in self._made:
            self._made[place] = place()
        return self._made[place]
