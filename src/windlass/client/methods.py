"""Turns the functions of `calls` and `scripts` into methods of the two clients.

A method keeps the parameters of its function, for people and type checkers alike; the twins differ
only in what they do with the work that the function describes.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from windlass.client.requests import Work

P = ParamSpec("P")
T = TypeVar("T")


class Performs(Protocol):
    def perform(self, work: Work[T]) -> T: ...


class PerformsAsync(Protocol):
    async def perform(self, work: Work[T]) -> T: ...


class Handle(Protocol):
    """Something about one run."""

    @property
    def id(self) -> str: ...

    @property
    def client(self) -> Performs: ...


class AsyncHandle(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def client(self) -> PerformsAsync: ...


class Method(Generic[P, T]):
    """A method of the sync client."""

    def __init__(self, build: Callable[P, Work[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __get__(self, client: Performs, owner: type) -> Callable[P, T]:
        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return client.perform(self._build(*args, **kwargs))

        return method


class AsyncMethod(Generic[P, T]):
    """A method of the async client."""

    def __init__(self, build: Callable[P, Work[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __get__(self, client: PerformsAsync, owner: type) -> Callable[P, Coroutine[Any, Any, T]]:
        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return client.perform(self._build(*args, **kwargs))

        return method


class RunMethod(Generic[P, T]):
    """A method of a run handle: the function's first parameter is the run's id."""

    def __init__(self, build: Callable[Concatenate[str, P], Work[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __get__(self, run: Handle, owner: type) -> Callable[P, T]:
        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return run.client.perform(self._build(run.id, *args, **kwargs))

        return method


class AsyncRunMethod(Generic[P, T]):
    def __init__(self, build: Callable[Concatenate[str, P], Work[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __get__(self, run: AsyncHandle, owner: type) -> Callable[P, Coroutine[Any, Any, T]]:
        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return run.client.perform(self._build(run.id, *args, **kwargs))

        return method
