"""Bulk jobs: one act on many runs, done in the background, with an item for each.

Each act is committed together with its line in the audit, whose id the item has had from the
beginning: the line is the mark that the act was done, so that a crash repeats none.
"""

from enum import StrEnum

from windlass.model.rows import Json, Row

BULK = "bulk"
"""The kind of effect that does a slice of a job."""


class BulkAct(StrEnum):
    CANCEL = "cancel"
    RETRY = "retry"
    RERUN = "rerun"
    DELETE = "delete"
    ANSWER = "answer"


class BulkState(StrEnum):
    WORKING = "working"
    STOPPED = "stopped"
    """Somebody stopped it; what was left is left."""
    DONE = "done"


class ItemState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class BulkJob(Row, frozen=True, kw_only=True):
    TABLE = "bulk_jobs"
    FIXED = frozenset({"tenant", "actor", "act", "query", "body", "total", "created_at"})
    id: str
    tenant: str = "default"
    actor: str
    act: BulkAct
    query: str = ""
    """The filter that found its runs; empty where they were named."""
    body: Json = "{}"
    """What an answer says."""
    state: BulkState = BulkState.WORKING
    total: int
    created_at: int
    finished_at: int | None = None


class BulkItem(Row, frozen=True, kw_only=True):
    TABLE = "bulk_items"
    FIXED = frozenset({"tenant", "job_id", "target", "mark"})
    id: str
    """The job's id, `~` and its number."""
    tenant: str = "default"
    job_id: str
    target: str
    """A run; of an answer, a checkpoint."""
    mark: str
    """The id of the line in the audit that is written with the act."""
    state: ItemState = ItemState.WAITING
    detail: str = ""
    """Why it was refused."""
