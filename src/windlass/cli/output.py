"""Answers as people and programs want them: tables on a terminal, TSV in a pipe, or JSON."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

ICONS = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "lost": ("✗", "yellow"),
    "running": ("▶", "blue"),
    "claimed": ("▶", "blue"),
    "verifying": ("▶", "blue"),
    "waiting": ("⏸", "yellow"),
    "queued": ("○", "cyan"),
    "pending": ("○", "dim"),
    "cancelling": ("⊘", "yellow"),
    "cancelled": ("⊘", "dim"),
    "skipped": ("⊘", "dim"),
    "superseded": ("⊘", "dim"),
    "online": ("●", "green"),
    "late": ("●", "yellow"),
    "offline": ("●", "red"),
    "open": ("⏸", "yellow"),
}


def is_terminal() -> bool:
    return sys.stdout.isatty()


def show_json(value: object) -> None:
    """JSON: indented for eyes, on one line for pipes."""
    encoded = msgspec.json.encode(value)
    if is_terminal():
        encoded = msgspec.json.format(encoded, indent=2)
    click.echo(encoded.decode())


def show_rows(
    items: Sequence[object], columns: Sequence[str], *, as_json: bool, empty: str = ""
) -> None:
    """A list of things by some of their fields; `empty` is the next step when there are none."""
    if as_json:
        show_json(items)
        return
    if not items and empty:
        click.echo(empty, err=True)
        return
    rows = [[getattr(item, column) for column in columns] for item in items]
    if is_terminal():
        _table(columns, rows)
    else:
        for row in rows:
            click.echo("\t".join(_plain(c, v) for c, v in zip(columns, row, strict=True)))


def show_fields(item: object, columns: Sequence[str], *, as_json: bool) -> None:
    """One thing, a line for each field that says something."""
    if as_json:
        show_json(item)
        return
    width = max(len(column) for column in columns)
    for column in columns:
        value = getattr(item, column)
        if value not in (None, "", {}, []):
            shown = _human(column, value) if is_terminal() else _plain(column, value)
            click.echo(f"{column.ljust(width)}  {shown}" if is_terminal() else f"{column}\t{shown}")


def state_text(state: str) -> str:
    """A state with its icon: never by colour alone."""
    icon, _ = ICONS.get(state, ("·", ""))
    return f"{icon} {state}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold dim")
    for column in columns:
        whole = column in ("id", "state")  # half an id cannot be copied
        table.add_column(column.replace("_", " ").upper(), overflow="fold", no_wrap=whole)
    for row in rows:
        cells = [
            Text(_human(column, value), style=_style(column, value))
            for column, value in zip(columns, row, strict=True)
        ]
        table.add_row(*cells)
    Console().print(table)


def _style(column: str, value: Any) -> str:
    return ICONS.get(str(value), ("", ""))[1] if column == "state" else ""


def _human(column: str, value: Any) -> str:
    if column == "state":
        return state_text(str(value))
    if column.endswith("_at") and isinstance(value, int):
        return ago(value)
    if column == "services":
        return ", ".join(value)
    return _plain(column, value)


def _plain(column: str, value: Any) -> str:
    match value:
        case None:
            return ""
        case int() if column.endswith("_at"):
            return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds")
        case str() | int() | float():
            text = str(value)
        case [*items] if all(isinstance(item, str) for item in items):
            text = ",".join(items)
        case msgspec.Struct() if hasattr(value, "message"):
            text = str(getattr(value, "message"))  # noqa: B009  a failure, by its words
        case _:
            text = msgspec.json.encode(value).decode()
    return text.replace("\t", " ").replace("\n", " ")


def ago(unix_ms: int) -> str:
    """How long ago, or in how long, in the largest unit that fits."""
    seconds = (datetime.now(UTC).timestamp() * 1000 - unix_ms) / 1000
    span = span_text(abs(seconds))
    return f"{span} ago" if seconds >= 0 else f"in {span}"


def span_text(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}" if seconds >= 10 * size else _two(seconds, size)
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"


def _two(seconds: float, size: int) -> str:
    smaller = {86400: (3600, "h"), 3600: (60, "m"), 60: (1, "s")}[size]
    unit = {86400: "d", 3600: "h", 60: "m"}[size]
    whole, rest = divmod(seconds, size)
    return f"{whole:.0f}{unit}{rest // smaller[0]:.0f}{smaller[1]}"
