"""The schema's numbers: what the code expects, and the refusal when the database differs.

A database says two numbers: the newest migration that ran on it, and the oldest release that may
still run. A program starts on every database between whose numbers its own stands.
"""

from typing import NamedTuple

from windlass.model.errors import Unavailable

SCHEMA = 25
"""The newest migration this program brings, and needs."""
OLDEST = 2
"""Programs of this schema and later run on a database that has been brought to `SCHEMA`."""
FIRST_RECORDED = 3
"""Migrations from this one on are recorded by name; before it, only the newest number was."""


class Found(NamedTuple):
    """What a database says of itself; zeros while it is empty."""

    newest: int
    oldest: int


def check_schema(found: Found) -> None:
    if found.oldest > SCHEMA:
        raise Unavailable(
            f"the database has schema {found.newest}, and needs programs of schema"
            f" {found.oldest} or later; this one is {SCHEMA}: install a newer one"
        )
    if found.newest < SCHEMA:
        raise Unavailable(
            f"the database has schema {found.newest}, this program needs {SCHEMA};"
            " run `windlass db migrate`"
        )
