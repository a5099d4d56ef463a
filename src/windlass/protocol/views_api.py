"""Saved views as the API takes and gives them."""

from windlass.protocol.exchange import Wire

VIEWS_PATH = "/api/v1/views"


class SavedViewBody(Wire, frozen=True, kw_only=True):
    """A view to keep."""

    name: str
    page: str = "runs"
    query: str = ""
    columns: list[str] = []
    sort: str = ""
    shared: bool = False
    """Whether all of the tenant see it."""


class SavedViewChange(Wire, frozen=True, kw_only=True):
    """What is to change of a view; what is left out stays."""

    name: str | None = None
    query: str | None = None
    columns: list[str] | None = None
    sort: str | None = None
    shared: bool | None = None


class SavedViewView(Wire, frozen=True, kw_only=True):
    """A view that is kept."""

    id: str
    name: str
    page: str
    query: str
    columns: list[str]
    sort: str
    shared: bool
    mine: bool
    """Whether the caller may change it."""
    updated_at: int


class SavedViewList(Wire, frozen=True, kw_only=True):
    items: list[SavedViewView]
