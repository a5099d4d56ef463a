"""What the API, and workers, say of the blackboard."""

from typing import Annotated, Any

from msgspec import Meta

from windlass.model.blackboard import BoardEntry, BoardPast
from windlass.protocol.api import Raw
from windlass.protocol.exchange import Wire

_Revision = Annotated[int, Meta(ge=0, le=2**53)]


class BoardView(Wire, frozen=True, kw_only=True):
    key: str
    revision: int
    """The run's `seq` when it was written."""
    writer: str
    """`orchestrator`, `worker` or `verifier`."""
    writer_id: str
    attempt_id: str
    deleted: bool
    payload: Raw
    at: int


class BoardWrite(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt writes, or takes away, a key of its own task."""

    attempt_id: str
    token: str | int
    key: str
    payload: Any = None
    expected: _Revision | None = None
    """The revision it has seen, 0 for none; null writes over whatever is there."""
    delete: bool = False


class BoardWrote(Wire, frozen=True, kw_only=True):
    revision: int


class BoardRead(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt reads a key of its run, or all keys that begin so."""

    attempt_id: str
    token: str | int
    key: str = ""
    revision: _Revision = 0
    """As it stood then; 0 is now."""
    prefix: str = ""


class BoardFound(Wire, frozen=True, kw_only=True):
    items: list[BoardView]


def board_view(row: BoardEntry | BoardPast) -> BoardView:
    return BoardView(
        key=row.key,
        revision=row.revision,
        writer=row.writer,
        writer_id=row.writer_id,
        attempt_id=row.attempt_id,
        deleted=bool(row.deleted),
        payload=Raw(row.payload.encode()),
        at=row.at,
    )
