"""Bulk jobs as the API takes and gives them."""

from typing import Any

from windlass.model.bulk import BulkAct, BulkState
from windlass.protocol.exchange import Wire

BULK_PATH = "/api/v1/bulk"


class BulkJobBody(Wire, frozen=True, kw_only=True):
    """An act on many runs: those a filter finds, or those that are named."""

    act: BulkAct
    q: str = ""
    """Of what it finds, only runs that the act makes sense for are taken."""
    ids: list[str] = []
    """Runs; of an answer, checkpoints."""
    answer: Any = None
    note: str = ""
    """What is answered, and said about it."""
    dry_run: bool = False
    """Only count."""


class BulkRefusal(Wire, frozen=True, kw_only=True):
    """What could not be done, and why."""

    id: str
    detail: str


class BulkJobView(Wire, frozen=True, kw_only=True):
    """A bulk job, and how far it is."""

    id: str
    act: BulkAct
    q: str
    actor: str
    state: BulkState
    total: int
    done: int
    failed: int
    left: int
    created_at: int
    finished_at: int | None = None
    refused: list[BulkRefusal] = []
    """The first of those that failed; only where one job is asked for."""


class BulkJobList(Wire, frozen=True, kw_only=True):
    items: list[BulkJobView]


class BulkCount(Wire, frozen=True, kw_only=True):
    """How many a job would take."""

    matched: int
