"""Errors as people see them: what happened, what to do next, and the exit code."""

import traceback

from windlass.cli.printing import print_line, print_text
from windlass.client import RunEnded, WaitTimeout
from windlass.client.errors import Unreachable
from windlass.client.problems import ServerError
from windlass.model.errors import (
    BadRequest,
    Conflict,
    DefinitionError,
    Denied,
    NotFound,
    NotInstalled,
    StaleLease,
    Unauthorized,
    Unavailable,
    WindlassError,
)

INTERNAL = 70
LISTS = {
    "run": "windlass run ls",
    "flow": "windlass flow ls",
    "checkpoint": "windlass inbox ls",
    "worker": "windlass worker ls",
    "token": "windlass token ls",
}


def report(error: Exception) -> int:
    """Print an error to stderr; the exit code it stands for."""
    if not isinstance(error, WindlassError | OSError | ValueError):
        print_text("".join(traceback.format_exception(error)).rstrip(), err=True)
        print_line("error: this is a fault of windlass; please report the lines above", err=True)
        return INTERNAL
    if isinstance(error, DefinitionError):
        print_line(f"error: the definition has {len(error.problems)} problem(s)", err=True)
        for problem in error.problems:
            print_text(f"  {problem}", err=True, indent="    ")
    else:
        print_text(f"error: {error}", err=True, indent="  ")
    hint = hint_for(error)
    if hint:
        print_line(f"  → {hint}", err=True)
    return code_for(error)


def code_for(error: Exception) -> int:
    match error:
        case RunEnded():
            return 1
        case NotFound() | NotInstalled() | Conflict() | StaleLease():
            return 3
        case Unauthorized() | Denied():
            return 4
        case Unavailable():
            return 5
        case WaitTimeout():
            return 124
        case ServerError():
            return INTERNAL
        case _:
            return 2


def hint_for(error: Exception) -> str:
    """The next step, unless the message names it already."""
    match error:
        case RunEnded():
            return f"see `windlass run show {error.run.id}`, or try it again with `run retry`"
        case DefinitionError():
            return "edit it, and check it with `windlass flow validate FILE`"
        case Unauthorized() if "send a token" in str(error):
            return "set WINDLASS_TOKEN; an admin makes one with `windlass token create NAME`"
        case ServerError():
            return "the server's log says more"
        case Unreachable() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ""  # somebody is there, and the message says what is wrong
        case Unreachable():
            return "start one with `windlass dev`, or name another with --server or WINDLASS_URL"
        case _ if "; " in str(error):
            return ""
        case NotFound():
            return _list_hint(str(error))
        case Denied():
            return "use a token with a role that may do this"
        case BadRequest() | ValueError():
            return "see --help"
        case _:
            return ""


def _list_hint(text: str) -> str:
    """Where to look for what was not found."""
    found = [
        command for word, command in LISTS.items() if text.startswith((f"no {word} ", f"{word} "))
    ]
    return f"look at what is there: `{found[0]}`" if found else ""
