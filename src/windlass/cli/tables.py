"""Tables that fit the terminal: columns give way by rank, and one of them bends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.model.visible import visible

GAP = 2
BENT_MIN = 16
"""A column shorter than this says nothing any more, and is left out instead."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table for people."""

    title: str
    text: Callable[[Any], str]
    rank: int = 0
    """0 stays; of the others the highest goes first when the terminal is narrow."""
    bends: bool = False
    """Its texts may be cut short to fit."""
    style: Callable[[Any], str] | None = None
    full: Callable[[Any], str] | None = None
    """The text where there is room for all of it: with `--wide`."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A column with its cells and the width it gets."""

    column: Column
    cells: list[str]
    width: int


def lay_out(
    items: Sequence[object], columns: Sequence[Column], width: int, *, wide: bool = False
) -> list[Laid]:
    """The columns that fit and say something, each with its width."""
    laid = [_measured(items, column, wide=wide) for column in columns]
    if len(items) > 0:
        laid = [found for found in laid if any(found.cells) or not found.column.rank]
    if wide:
        return laid
    while (over := _total(laid) - width) > 0:
        bent = _bent(laid, over)
        if bent is not None:
            return bent
        worst = max(laid, key=lambda found: found.column.rank)
        if not worst.column.rank:
            break
        laid.remove(worst)
    return laid


def draw(items: Sequence[object], columns: Sequence[Column], *, wide: bool) -> None:
    """Print a table to the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    laid = lay_out(items, columns, console.width, wide=wide)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold dim")
    for found in laid:
        table.add_column(found.column.title, width=found.width, no_wrap=True, overflow="ellipsis")
    for index, item in enumerate(items):
        styles = [f.column.style(item) if f.column.style else "" for f in laid]
        cells = [Text(f.cells[index], style=s) for f, s in zip(laid, styles, strict=True)]
        table.add_row(*cells)
    room = max(console.width, _total(laid) + GAP)
    console.print(table, width=room, soft_wrap=room > console.width, no_wrap=True)


def _measured(items: Sequence[object], column: Column, *, wide: bool) -> Laid:
    from rich.cells import cell_len

    text = column.full if wide and column.full is not None else column.text
    cells = [visible(text(item)) for item in items]
    return Laid(column, cells, max(map(cell_len, [column.title, *cells])))


def _total(laid: Sequence[Laid]) -> int:
    return sum(found.width for found in laid) + GAP * (len(laid) - 1)


def _bent(laid: Sequence[Laid], over: int) -> list[Laid] | None:
    """The columns with the one that bends made narrower, if that is enough."""
    for index, found in enumerate(laid):
        if found.column.bends and found.width - over >= BENT_MIN:
            narrower = Laid(found.column, found.cells, found.width - over)
            return [*laid[:index], narrower, *laid[index + 1 :]]
    return None
