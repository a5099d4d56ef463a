"""Click groups that load a command's module only when the command runs."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

Commands = Mapping[str, tuple[str, str]]
"""Name → where the command is, as `module:attribute`, and what `--help` says about it."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and one line of help."""

    def __init__(self, *args: Any, lazy: Commands, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._lazy.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry[0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])
