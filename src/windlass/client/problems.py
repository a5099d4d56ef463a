"""Errors as the server sends them, back to the classes that say who must act."""

import msgspec

from windlass.model.errors import (
    BadRequest,
    Conflict,
    DefinitionError,
    Denied,
    NotFound,
    NotInstalled,
    Problem,
    Unauthorized,
    Unavailable,
    WindlassError,
)


class ProblemBody(msgspec.Struct, frozen=True):
    """RFC 9457, as far as we read it; `error` is what the compatible paths say instead."""

    title: str = ""
    detail: str = ""
    problems: list[Problem] = []
    error: str = ""

    @property
    def text(self) -> str:
        return self.detail or self.error or self.title


class ServerError(WindlassError):
    """The server failed in a way it did not foresee; its log says more."""


_CLASSES: dict[int, type[WindlassError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Denied,
    404: NotFound,
    405: BadRequest,
    409: Conflict,
    410: NotFound,
    413: BadRequest,
    415: BadRequest,
    422: BadRequest,
}
_PASSING = frozenset({408, 425, 429, 502, 503, 504})


def error_of(status: int, body: bytes, retry_after: str | None = None) -> WindlassError:
    """The error an answer stands for."""
    problem = _read(body)
    text = problem.text or f"the server answered {status}"
    if status == 422 and problem.problems:
        return DefinitionError(problem.problems)
    if problem.error == "not_installed":
        return NotInstalled(text)
    if status in _PASSING:
        return Unavailable(text, _seconds(retry_after))
    known = _CLASSES.get(status)
    if known is not None:
        return known(text)
    return ServerError(text) if status >= 500 else BadRequest(text)


def _read(body: bytes) -> ProblemBody:
    try:
        return msgspec.json.decode(body, type=ProblemBody)
    except msgspec.MsgspecError:
        return ProblemBody(detail=body[:200].decode(errors="replace").strip())


def _seconds(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after)) if retry_after else 1.0
    except ValueError:
        return 1.0  # a date; not worth a parser
