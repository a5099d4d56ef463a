"""Errors as people see them: what happened, what to do next, and the exit code."""

import traceback

import click

from windlass.client import RunEnded, WaitTimeout
from windlass.model.errors import (
    BadRequest,
    Conflict,
    DefinitionError,
    Denied,
    NotFound,
    Unauthorized,
    Unavailable,
    WindlassError,
)

INTERNAL = 70


def report(error: Exception) -> int:
    """Print an error to stderr; the exit code it stands for."""
    if not isinstance(error, WindlassError | OSError | ValueError):
        traceback.print_exception(error)
        click.echo("error: this is a fault of windlass; please report the lines above", err=True)
        return INTERNAL
    code, hint = _meaning(error)
    if isinstance(error, DefinitionError):
        click.echo(f"error: the definition has {len(error.problems)} problem(s)", err=True)
        for problem in error.problems:
            click.echo(f"  {problem}", err=True)
    else:
        click.echo(f"error: {error}", err=True)
    if hint:
        click.echo(f"  → {hint}", err=True)
    return code


def _meaning(error: Exception) -> tuple[int, str]:
    match error:
        case RunEnded():
            return 1, f"see `windlass run show {error.run.id}`, or try it again with `run retry`"
        case DefinitionError():
            return 2, "edit it, and check it with `windlass flow validate FILE`"
        case NotFound():
            return 3, "look at what is there: `windlass run ls`, `windlass flow ls`"
        case Conflict():
            return 3, "look again: somebody or something was faster"
        case Unauthorized():
            return 4, "set WINDLASS_TOKEN, or make a token with `windlass token create`"
        case Denied():
            return 4, "use a token with a role that may do this"
        case Unavailable():
            return 5, "start one with `windlass dev`, or name another with --server"
        case WaitTimeout():
            return 124, ""
        case BadRequest() | ValueError():
            return 2, "see --help"
        case _:
            return 1, ""
