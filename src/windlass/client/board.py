"""The blackboard as a handler sees it: below its own task it writes, of its run it reads.

    ctx.blackboard.put("progress.pages", {"read": 3})
    found = ctx.blackboard.get("bb.run.….context.goal")

A key without `bb.` is of the attempt's own task. In an async handler the calls go through a thread:
`await asyncio.to_thread(ctx.blackboard.put, …)`.
"""

from typing import Any, Protocol

import msgspec

from windlass.model.blackboard import task_key
from windlass.model.errors import NotFound
from windlass.protocol.blackboard import BoardRead, BoardView, BoardWrite


class Board(Protocol):
    """Where entries are kept. Called from any thread; raises the errors of the model."""

    def write(self, write: BoardWrite) -> int: ...

    def read(self, read: BoardRead) -> list[BoardView]: ...


class BoardValue:
    """What stands under a key."""

    def __init__(self, view: BoardView) -> None:
        self.key = view.key
        self.revision = view.revision
        self.writer = view.writer
        self.value: Any = msgspec.json.decode(view.payload)


class Blackboard:
    """One attempt's hand on the blackboard."""

    def __init__(self, board: Board, attempt_id: str, task_id: str, token: str | int) -> None:
        self._board = board
        self._attempt_id = attempt_id
        self._task_id = task_id
        self._token = token

    def put(self, key: str, value: Any, expected: int | None = None) -> int:
        """Write a key; where `expected` is given, only over that revision (0: only if there is
        none). Returns the new revision."""
        return self._write(key, payload=value, expected=expected)

    def delete(self, key: str, expected: int | None = None) -> int:
        return self._write(key, delete=True, expected=expected)

    def get(self, key: str, revision: int = 0) -> BoardValue | None:
        """What stands under a key, or stood at a revision; None where nothing does."""
        whole = self._whole(key)
        try:
            found = self._board.read(
                BoardRead(
                    attempt_id=self._attempt_id, token=self._token, key=whole, revision=revision
                )
            )
        except NotFound:
            return None
        return BoardValue(found[0])

    def list(self, prefix: str = "") -> list[BoardValue]:
        """What stands under all keys that begin so, of the whole run if nothing is said."""
        start = self._whole(prefix) if prefix else ""
        asked = BoardRead(attempt_id=self._attempt_id, token=self._token, prefix=start)
        return [BoardValue(view) for view in self._board.read(asked)]

    def _write(self, key: str, **more: Any) -> int:
        write = BoardWrite(
            attempt_id=self._attempt_id, token=self._token, key=self._whole(key), **more
        )
        return self._board.write(write)

    def _whole(self, key: str) -> str:
        return key if key.startswith("bb.") else task_key(self._task_id, key)
