"""Options of processes: each is a flag and a WINDLASS_* variable, some under older names too."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def setting(flag: str, *more: str, also: tuple[str, ...] = (), **attrs: Any) -> Callable[[F], F]:
    """An option that its environment variables set as well; ours comes first."""
    name = flag.lstrip("-").partition("/")[0].replace("-", "_").upper()
    attrs.setdefault("envvar", [f"WINDLASS_{name}", *also])
    attrs.setdefault("show_envvar", False)
    return click.option(flag, *more, **attrs)


def database_url(given: str) -> str:
    """A database as a URL; a bare file name is SQLite."""
    return given if "://" in given else f"sqlite:///{given}"
