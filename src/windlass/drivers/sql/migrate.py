"""The schema's number: what the code expects, and the refusal when the database differs."""

from windlass.model.errors import Unavailable

SCHEMA = 4
"""The newest migration; a server starts only on a database that has exactly this one."""


def check_schema(found: int) -> None:
    if found == SCHEMA:
        return
    if found > SCHEMA:
        raise Unavailable(
            f"the database has schema {found}, this program knows {SCHEMA}; install a newer one"
        )
    raise Unavailable(
        f"the database has schema {found}, this program needs {SCHEMA}; run `windlass db migrate`"
    )
