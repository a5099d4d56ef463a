"""Statements made from row types: select, insert, update, delete, list.

A row type already says what a table's columns are; spelling the same list out in four statements
for twelve tables and two databases would be a hundred places to forget one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from windlass.drivers.sql.tables import changing, columns
from windlass.drivers.sql.walks import values_of, walk_of
from windlass.model.rows import Row
from windlass.ports.store import Cond

NO_NAMES: Mapping[str, str] = {}
_OPS = frozenset({"=", "!=", "<", "<=", ">", ">=", "like"})


def select(table: type[Row], *, heavy: bool = True) -> str:
    light: Mapping[str, str] = {} if heavy else table.HEAVY
    shown = (f"{light[name]} as {name}" if name in light else name for name in columns(table))
    return f"select {', '.join(shown)} from {table.TABLE}"


@cache
def insert(table: type[Row], count: int = 1) -> str:
    """Insert rows with `?` parameters in column order; upserting tables replace."""
    names = columns(table)
    marks = ", ".join([f"({', '.join('?' * len(names))})"] * count)
    return f"insert into {table.TABLE} ({', '.join(names)}) values {marks}" + on_conflict(table)


@cache
def on_conflict(table: type[Row]) -> str:
    if not table.UPSERT:
        return ""
    sets = ", ".join(f"{name} = excluded.{name}" for name in changing(table))
    return f" on conflict ({', '.join(table.KEY)}) do update set {sets}"


@cache
def update(table: type[Row], names: tuple[str, ...]) -> str:
    """Update some columns of one row with `?` parameters: the columns, then the key."""
    sets = ", ".join(
        f"{name} = coalesce(?, {name})" if name in table.LATE else f"{name} = ?" for name in names
    )
    return f"update {table.TABLE} set {sets} where {by_key(table)}"


@cache
def delete(table: type[Row]) -> str:
    return f"delete from {table.TABLE} where {by_key(table)}"


def by_key(table: type[Row]) -> str:
    return " and ".join(f"{name} = ?" for name in table.KEY)


Parameter = Callable[[Any], str]
"""Takes a value, returns the mark that stands for it in the statement."""
AnyOf = Callable[[str, Any], str]
"""Takes a column and a list, returns the condition that it is one of them."""


def conditions(
    table: type[Row],
    where: Sequence[Cond],
    parameter: Parameter,
    any_of: AnyOf,
    names: Mapping[str, str] = NO_NAMES,
) -> str:
    """A `where` clause. Column names are checked against the row type, values are parameters;
    `names` says what else stands for a column."""
    parts: list[str] = []
    for column, op, value in where:
        assert column in columns(table), f"{table.TABLE} has no column {column}"
        name = names.get(column, column)
        if op in ("null", "not null"):
            parts.append(f"{name} is {op}")
        elif op == "in":
            parts.append(name + any_of(column, value).removeprefix(column))
        elif op == "tagged":
            marks = ", ".join(map(parameter, value)) or "null"
            parts.append(f"id in (select run_id from run_tags where tag in ({marks}))")
        else:
            assert op in _OPS, f"unknown operator {op}"
            escape = " escape '\\'" if op == "like" else ""
            parts.append(f"{name} {op} {parameter(value)}{escape}")
    return f" where {' and '.join(parts)}" if parts else ""


def listing(
    table: type[Row],
    where: Sequence[Cond],
    tail: tuple[str, bool, int, int],
    parameter: Parameter,
    any_of: AnyOf,
    *,
    heavy: bool = True,
    bytewise: str = "",
) -> str:
    """A page of rows. `tail` is the order column, whether it descends, the limit, the offset.

    A list of states is asked for state by state: each is a walk along the index on (state, id) in
    the order wanted, where a database given all at once would sort them or walk past every other
    row. So are the other things that runs are looked for by: see `walks`.
    """
    order, descending, limit, offset = tail
    walk = walk_of(table.TABLE, where, order, bytewise)
    rows = select(table, heavy=heavy)
    if walk is None or walk.each is None:
        clause = conditions(table, where, parameter, any_of, walk.names if walk else NO_NAMES)
        return rows + clause + ordering(table, order, descending, limit, offset)
    wanted = values_of(walk)
    if not wanted:
        return f"{select(table)} where 1 = 0"
    others = [cond for cond in where if cond is not walk.each]
    source = rows.removesuffix(table.TABLE) + walk.source if walk.source else rows
    parts: list[str] = []
    for value in wanted:
        one = f" where {walk.column} = {parameter(value)}"
        rest = conditions(table, others, parameter, any_of, walk.names)
        first = ordering(table, order, descending, limit + offset, 0, name=walk.order)
        clause = one + rest.replace(" where ", " and ", 1) + first
        parts.append(f"select * from ({source}{clause}) as of_{len(parts)}")
    last = ordering(table, order, descending, limit, offset)
    return f"select * from ({' union all '.join(parts)}) as together{last}"


def ordering(
    table: type[Row], order: str, descending: bool, limit: int, offset: int, *, name: str = ""
) -> str:
    assert order in columns(table), f"{table.TABLE} has no column {order}"
    direction = " desc" if descending else ""
    skip = f" offset {int(offset)}" if offset else ""
    # Rows made in the same moment have an order too, or a page could end between any two of them.
    key = table.KEY if order == "created_at" else ()
    ties = "".join(f", {column}{direction}" for column in key)
    return f" order by {name or order}{direction}{ties} limit {int(limit)}{skip}"


def may_exist(key: Any) -> bool:
    """Whether a row can have this key. PostgreSQL refuses a query with NUL in it, and with that
    the whole pass that one stranger's id came along with."""
    if isinstance(key, str):
        return "\0" not in key
    return not any(isinstance(part, str) and "\0" in part for part in key)
