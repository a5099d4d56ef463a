"""The spool: what was observed, written down before anybody is told, and which pods are known.

An observation is written, then published, then marked. A crash after the first step repeats the
second and never loses it; a restart finds what was published in the file and says nothing twice.
What is kept of a pod goes when the pod does, so the file grows with the cluster, not with time.

Losing power may lose the newest commits (`synchronous = normal`). That costs nothing: the pods
are listed again, and one that went away meanwhile is still known.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from windlass.model.errors import BadRequest

PENDING_MAX = 100_000

_SCHEMA = """
create table if not exists pod (
    uid text primary key,
    body blob not null,
    said text not null
) without rowid;
create table if not exists event (
    seq integer primary key autoincrement,
    id text not null unique,
    pod_uid text not null,
    tenant text not null,
    at real not null,
    body blob not null,
    published integer not null default 0
);
create index if not exists event_pending on event (seq) where published = 0;
create index if not exists event_pod on event (pod_uid);
"""


class SpooledEvent(NamedTuple):
    """An envelope on its way: who it is about, when it happened, and its bytes."""

    id: str
    pod_uid: str
    tenant: str
    at: float
    body: bytes
    seq: int = 0


@dataclass(slots=True)
class Batch:
    """Changes that are written together."""

    pods: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    """By uid: the pod as seen last, and the last status that was said about it."""
    events: list[SpooledEvent] = field(default_factory=list[SpooledEvent])
    gone: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return bool(self.pods or self.events or self.gone)


class Spool:
    """A file with one writer."""

    def __init__(self, path: Path | str, pending_max: int = PENDING_MAX) -> None:
        self._max = pending_max
        try:
            if path != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=1)
            self._db.executescript(
                "pragma journal_mode = wal; pragma synchronous = normal;"
                # Another collector with this file would publish what is ours.
                "pragma locking_mode = exclusive; pragma cache_size = -4096;" + _SCHEMA
            )
        except (OSError, sqlite3.Error) as error:
            hint = "give each collector a writable file of its own with --spool"
            raise BadRequest(f"cannot use the spool {path}: {error}; {hint}") from error
        rows = self._db.execute(
            "select tenant, count(*) from event where published = 0 group by tenant"
        )
        self.pending_of: Counter[str] = Counter(dict(rows.fetchall()))

    @property
    def pending(self) -> int:
        return self.pending_of.total()

    def is_full(self) -> bool:
        return self.pending >= self._max

    def close(self) -> None:
        self._db.close()

    def write(self, batch: Batch) -> list[SpooledEvent]:
        """Write changes in one commit; the events that were new."""
        added: list[SpooledEvent] = []
        self._db.execute("begin immediate")
        try:
            for uid, (body, said) in batch.pods.items():
                self._db.execute("insert or replace into pod values (?, ?, ?)", (uid, body, said))
            for event in batch.events:
                done = self._db.execute(
                    "insert or ignore into event (id, pod_uid, tenant, at, body)"
                    " values (?, ?, ?, ?, ?)",
                    event[:5],
                )
                if done.rowcount:
                    added.append(event)
            for uid in batch.gone:
                self._db.execute("delete from pod where uid = ?", (uid,))
                self._db.execute("delete from event where pod_uid = ? and published = 1", (uid,))
            self._db.execute("commit")
        except BaseException:
            self._db.execute("rollback")
            raise
        self.pending_of.update(event.tenant for event in added)
        return added

    def oldest(self, count_max: int) -> list[SpooledEvent]:
        """What is to be published next, in the order it was observed."""
        rows = self._db.execute(
            "select id, pod_uid, tenant, at, body, seq from event where published = 0"
            " order by seq limit ?",
            (count_max,),
        )
        return [SpooledEvent(*row) for row in rows]

    def mark(self, events: Sequence[SpooledEvent]) -> None:
        """These are published, or refused for good: never again."""
        self._db.execute("begin immediate")
        try:
            for event in events:
                # Only the id is kept, for as long as its pod could be seen once more.
                self._db.execute(
                    "update event set published = 1, body = x'' where seq = ?", (event.seq,)
                )
                self._db.execute(
                    "delete from event where seq = ? and pod_uid not in (select uid from pod)",
                    (event.seq,),
                )
            self._db.execute("commit")
        except BaseException:
            self._db.execute("rollback")
            raise
        self.pending_of.subtract(Counter(event.tenant for event in events))

    def known(self) -> Iterator[tuple[str, str, str]]:
        """Each pod that is not gone: its uid, the status said last, and the last event's id."""
        yield from self._db.execute(
            "select uid, said, coalesce((select id from event where pod_uid = uid"
            " order by seq desc limit 1), '') from pod"
        )

    def pods(self, uids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Pods as they were seen last."""
        for uid in uids:
            row = self._db.execute("select body from pod where uid = ?", (uid,)).fetchone()
            if row is not None:
                yield uid, row[0]
