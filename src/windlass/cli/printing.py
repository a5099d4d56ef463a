"""The one way out for text: whatever is printed can be shown, and is escaped here alone.

Names and messages come from strangers. Escaping where a text is made would escape it again where it
is put into another; so texts stay as they are until they are printed.
"""

import click

from windlass.model.visible import visible, visible_json, visible_lines


def print_line(text: str, *, err: bool = False) -> None:
    """One line, whatever is in it; tabs between fields stay."""
    click.echo(visible(text, tabs=True), err=err)


def print_text(text: str, *, err: bool = False, indent: str = "") -> None:
    """A text of several lines; those after the first are indented, so that none passes for ours."""
    click.echo(f"\n{indent}".join(visible_lines(text)), err=err)


def print_json(text: str) -> None:
    click.echo(visible_json(text))
