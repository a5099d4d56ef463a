"""Saved views: how somebody likes to see a list, under a name."""

from windlass.model.rows import Json, Row


class SavedView(Row, frozen=True, kw_only=True):
    """A filter, columns and an order of a list, of one owner; shared ones are shown to all of the
    tenant."""

    TABLE = "saved_views"
    FIXED = frozenset({"tenant", "owner", "page", "created_at"})
    id: str
    tenant: str = "default"
    owner: str
    """A user's id; of a token `token:` and its name."""
    page: str = "runs"
    """Which list it is of."""
    name: str
    query: str = ""
    columns: Json = "[]"
    """Names of columns; none for those that are usual."""
    sort: str = ""
    """A column, with `-` before it for the largest first."""
    shared: int = 0
    created_at: int
    updated_at: int
