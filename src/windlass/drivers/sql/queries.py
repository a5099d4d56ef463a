"""Loads the named queries and the migrations from their `.sql` files.

A query starts at `-- name: x`, says in a comment what it is for, and takes `:named` parameters.
`= any(:ids)` takes a list. `{columns}` stands for the columns of the row type asked for. Text that
only one database understands is a `{word}` filled in by its driver.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

QUEUES_EACH = 16
"""Up to so many queues are looked into one by one; of more, only those that hold tasks."""
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


class Migration(NamedTuple):
    number: int
    name: str
    script: str


def load_queries(words: Mapping[str, str]) -> dict[str, str]:
    """All named queries, with what one database says for each of some words."""
    queries: dict[str, str] = {}
    for file in sorted(_folder("queries"), key=lambda f: f.name):
        for part in file.read_text().split("-- name: ")[1:]:
            name, _, body = part.partition("\n")
            lines = [line for line in body.splitlines() if not line.startswith("--")]
            query = "\n".join(lines).strip().rstrip(";")
            for word, text in words.items():
                query = query.replace(f"{{{word}}}", text)
            queries[name.strip()] = query
    return queries


def load_migrations(dialect: str, words: dict[str, str]) -> list[Migration]:
    """The migrations of one database in order: the shared text, then what only it needs."""
    shared = {f.name: f.read_text() for f in _folder("migrations")}
    found: list[Migration] = []
    for name in sorted(n for n in shared if n.count(".") == 1):
        stem = name.removesuffix(".sql")
        script = shared[name]
        for word, text in words.items():
            script = script.replace(f"{{{word}}}", text)
        script += "\n" + shared.get(f"{stem}.{dialect}.sql", "")
        found.append(Migration(int(stem.split("_")[0]), stem, script))
    return found


def _folder(name: str) -> Iterator[Traversable]:
    return resources.files("windlass.drivers.sql").joinpath(name).iterdir()


def positional(sql: str) -> tuple[str, tuple[str, ...]]:
    """A query with `$1…` in place of its names, and the names in that order."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return _PARAMETER.sub(number, sql), tuple(names)


def listed(sql: str) -> str:
    """A query for SQLite, where a list parameter is JSON text."""
    return re.sub(r"= any\((:[a-z_]+)\)", r"in (select value from json_each(\1))", sql)
