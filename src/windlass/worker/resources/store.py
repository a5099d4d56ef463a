"""Remembers resources over a restart of the worker, in a small SQLite file."""

import json
import sqlite3
from pathlib import Path

from windlass.worker.resources.handles import Backend, Handle, State


def _queries() -> dict[str, str]:
    """The statements of resource.sql by their names."""
    text = Path(__file__).with_name("resource.sql").read_text("utf-8")
    found: dict[str, str] = {}
    for part in text.split("-- name: ")[1:]:
        name, _, statement = part.partition("\n")
        found[name.strip()] = statement
    return found


class Store:
    """One file, one connection; the registry above it takes care of threads."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._queries = _queries()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        # The loss of a last note costs a file that lies around until the next look.
        self._db.execute("pragma synchronous = normal")
        self._db.execute(self._queries["create"])

    def save(self, handle: Handle) -> None:
        self._db.execute(
            self._queries["save"],
            {
                "resource_id": handle.resource_id,
                "type": handle.type,
                "backend": str(handle.backend),
                "scope": handle.scope,
                "state": str(handle.state),
                "path": handle.path,
                "metadata": json.dumps(handle.metadata),
                "size_bytes": handle.size_bytes,
                "created_at": handle.created_at,
                "used_at": handle.used_at,
                "expires_at": handle.expires_at,
                "ttl_s": handle.ttl_s,
            },
        )

    def load(self, worker_id: str) -> list[Handle]:
        rows = self._db.execute(self._queries["load"]).fetchall()
        return [
            Handle(
                resource_id=row[0],
                type=row[1],
                worker_id=worker_id,
                backend=Backend(row[2]),
                scope=row[3],
                state=State(row[4]),
                path=row[5],
                metadata=json.loads(row[6]),
                size_bytes=row[7],
                created_at=row[8],
                used_at=row[9],
                expires_at=row[10],
                ttl_s=row[11],
            )
            for row in rows
        ]

    def forget(self, before: float) -> None:
        self._db.execute(self._queries["forget"], {"before": before})

    def close(self) -> None:
        self._db.close()
