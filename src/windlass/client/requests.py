"""A request as a value, and the order of several: everything about a call except the I/O.

An operation is either one `ApiCall`, or a *script*: a generator that yields calls and pauses and is
sent what came of them. The sync and the async client each know how to perform them; what to ask and
how to read the answer is written once.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from windlass.client.problems import ServerError
from windlass.model.values import encoded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One request, and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait_s: float = 0.0
    """How long the server was asked to wait before it answers."""

    def read(self, body: bytes) -> T:
        """The answer as a value."""
        try:
            return msgspec.json.decode(body or b"{}", type=self.answer)
        except msgspec.MsgspecError as error:
            raise ServerError(f"the answer to {self.method} {self.path}: {error}") from error


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next call."""

    seconds: float


Script = Generator[ApiCall[Any] | Pause, Any, T]
Work = ApiCall[T] | Script[T]


class Ignored(msgspec.Struct, frozen=True):
    """An answer whose content does not matter."""


@runtime_checkable
class _Dumps(Protocol):
    def model_dump(self, *, mode: str) -> Any: ...


def encode(value: object) -> bytes:
    """JSON of anything sensible: plain values, structs, data classes, pydantic models."""
    return encoded(value, _plain)


def _plain(value: object) -> object:
    if isinstance(value, _Dumps):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")
