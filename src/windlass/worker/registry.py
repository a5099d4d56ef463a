"""The services a worker offers, by name."""

import contextlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

from windlass.worker.answers import plan_of, shaped, verdict_of
from windlass.worker.binding import Binder

P = ParamSpec("P")
T = TypeVar("T")

NAME_ATTRIBUTE = "__windlass_service__"
"""Where a handler carries the name of its service, so a flow can name it by the function."""


@dataclass(frozen=True, slots=True)
class Service:
    """A named function, and how many calls of it may run at once."""

    name: str
    handler: Callable[..., Any]
    binder: Binder
    is_async: bool
    concurrency: int | None = None


class Worker:
    """Collects services: `@worker.service("name")` above a plain or async function."""

    def __init__(self, services: Iterable[Service] = ()) -> None:
        self.services: dict[str, Service] = {service.name: service for service in services}

    @overload
    def service(self, name: Callable[P, T], /) -> Callable[P, T]: ...

    @overload
    def service(
        self, name: str = "", *, concurrency: int | None = None
    ) -> Callable[[Callable[P, T]], Callable[P, T]]: ...

    def service(self, name: Any = "", *, concurrency: int | None = None) -> Any:
        """Offer the function below under `name`, or its own; it stays an ordinary function."""
        if callable(name):  # `@worker.service` without brackets
            return self.service()(name)

        def register(handler: Callable[P, T]) -> Callable[P, T]:
            own = str(getattr(handler, "__name__", ""))
            self.add(name or own, handler, concurrency=concurrency)
            return handler

        return register

    def planner(
        self, profile: str, *, concurrency: int | None = None
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Offer the function below as a planner: it gets the brief, and returns a plan or its
        tasks."""
        return self._shaped(profile, plan_of, concurrency)

    def verifier(
        self, profile: str, *, concurrency: int | None = None
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Offer the function below as a verifier: it gets the brief, and returns yes or no, what is
        wrong, or a verdict."""
        return self._shaped(profile, verdict_of, concurrency)

    def _shaped(
        self, name: str, shape: Callable[[Any], Any], concurrency: int | None
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        def register(handler: Callable[P, T]) -> Callable[P, T]:
            self.add(name, shaped(handler, shape), concurrency=concurrency)
            return handler

        return register

    def add(
        self, name: str, handler: Callable[..., Any], *, concurrency: int | None = None
    ) -> None:
        """Offer a function under `name`."""
        if not name:
            raise ValueError("a service needs a name")
        if name in self.services:
            raise ValueError(f'the worker has a service "{name}" already')
        if concurrency is not None and concurrency < 1:
            raise ValueError(f'service "{name}": concurrency must be at least 1')
        is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
            getattr(handler, "__call__", None)  # noqa: B004  an object whose call is async
        )
        self.services[name] = Service(name, handler, Binder(handler), is_async, concurrency)
        with contextlib.suppress(AttributeError):  # methods take no attributes
            setattr(handler, NAME_ATTRIBUTE, name)

    @property
    def caps(self) -> dict[str, int]:
        """The services with a bound of their own, and how many calls of each may run at once."""
        return {
            service.name: service.concurrency
            for service in self.services.values()
            if service.concurrency is not None
        }

    def select(self, names: Iterable[str]) -> "Worker":
        """A worker with only some of these services."""
        wanted = list(names)
        missing = [name for name in wanted if name not in self.services]
        if missing:
            known = ", ".join(sorted(self.services)) or "none"
            raise ValueError(f"no service {', '.join(missing)} here; there is {known}")
        return Worker(self.services[name] for name in wanted)
