"""Turns the functions of `calls` and `scripts` into methods of the two clients.

A method keeps the parameters and the words of its function, for people and type checkers alike; the
twins differ only in what they do with the work that the function describes. To a type checker each
of these classes is a descriptor; once its owner is made it has put an ordinary function in its own
place, so that `help(Client)`, completion and `inspect` see what they know.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args

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


class Becomes:
    """Puts a function in its own place, once it knows where that is."""

    def __init__(self, build: Callable[..., Any], own: int = 0) -> None:
        """`own` parameters of the function are filled by the method itself."""
        self._build = build
        self._own = own

    def __set_name__(self, owner: type, name: str) -> None:
        method = self._function()
        signature = inspect.signature(self._build)
        given = list(signature.parameters.values())[self._own :]
        self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        # The function describes work; what people get is what the work comes to, or what the
        # method itself says that it makes of that.
        gives = method.__annotations__.get("return", Any)
        if gives is Any:
            gives = (signature.return_annotation, *get_args(signature.return_annotation))[-1]
        shown = signature.replace(parameters=[self_, *given], return_annotation=gives)
        method.__dict__["__signature__"] = shown
        method.__doc__ = self._build.__doc__
        method.__name__, method.__qualname__ = name, f"{owner.__name__}.{name}"
        method.__module__ = owner.__module__
        setattr(owner, name, method)

    def _function(self) -> Callable[..., Any]:
        raise NotImplementedError


class Method(Becomes, Generic[P, T]):
    """A method of the sync client."""

    if TYPE_CHECKING:

        def __init__(self, build: Callable[P, Work[T]]) -> None: ...

        def __get__(self, client: Performs, owner: type) -> Callable[P, T]: ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        def method(self: Performs, *args: Any, **kwargs: Any) -> Any:
            return self.perform(build(*args, **kwargs))

        return method


class AsyncMethod(Becomes, Generic[P, T]):
    """A method of the async client."""

    if TYPE_CHECKING:

        def __init__(self, build: Callable[P, Work[T]]) -> None: ...

        def __get__(
            self, client: PerformsAsync, owner: type
        ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        async def method(self: PerformsAsync, *args: Any, **kwargs: Any) -> Any:
            return await self.perform(build(*args, **kwargs))

        return method


class RunMethod(Becomes, Generic[P, T]):
    """A method of a run handle: the function's first parameter is the run's id."""

    def __init__(self, build: Callable[Concatenate[str, P], Work[T]]) -> None:
        super().__init__(build, own=1)

    if TYPE_CHECKING:

        def __get__(self, run: Handle, owner: type) -> Callable[P, T]: ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        def method(self: Handle, *args: Any, **kwargs: Any) -> Any:
            return self.client.perform(build(self.id, *args, **kwargs))

        return method


class AsyncRunMethod(Becomes, Generic[P, T]):
    def __init__(self, build: Callable[Concatenate[str, P], Work[T]]) -> None:
        super().__init__(build, own=1)

    if TYPE_CHECKING:

        def __get__(self, run: AsyncHandle, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        async def method(self: AsyncHandle, *args: Any, **kwargs: Any) -> Any:
            return await self.client.perform(build(self.id, *args, **kwargs))

        return method
