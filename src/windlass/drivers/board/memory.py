"""A copy of the blackboard within one process."""

from collections.abc import Mapping, Sequence

from windlass.ports.board import BoardCopy


class MemoryBoard:
    def __init__(self) -> None:
        self._entries: dict[str, BoardCopy] = {}

    async def put(self, entries: Sequence[BoardCopy]) -> None:
        for entry in entries:
            known = self._entries.get(entry.key)
            if known is None or known.revision < entry.revision:
                self._entries[entry.key] = entry

    async def get(self, key: str) -> BoardCopy | None:
        found = self._entries.get(key)
        return None if found is None or found.deleted else found

    async def list(self, prefix: str) -> Mapping[str, int]:
        return {
            key: entry.revision
            for key, entry in sorted(self._entries.items())
            if key.startswith(prefix) and not entry.deleted
        }

    async def close(self) -> None:
        self._entries.clear()
