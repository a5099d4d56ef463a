"""Pretended places: what of them outlives whoever made them, in memory or in a folder.

No threads, no clock and no randomness, so that the simulator can have them. In a folder each place
is one file, and processes that share it take turns.
"""

import asyncio
import contextlib
import fcntl
import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec

Files = dict[str, bytes]


class Kept(msgspec.Struct, kw_only=True):
    """A place and its snapshots. One that was removed from outside has only the latter."""

    name: str
    labels: dict[str, str] = {}
    config: dict[str, Any] = {}
    state: str = "running"
    epoch: int = 0
    files: Files = {}
    snapshots: dict[str, Files] = {}


class PretendedPlaces:
    """A pretended runtime. Several drivers may share it, as several processes share a real one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}
        self.running: dict[str, set[tuple[int, asyncio.Future[None]]]] = {}
        """By place: the epoch of each command that runs now, and what ends it."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> Kept | None:
        if self._folder is None:
            data = self._memory.get(name)
        else:
            try:
                data = self._file(name).read_bytes()
            except FileNotFoundError:
                data = None
        return None if data is None else msgspec.msgpack.decode(data, type=Kept)

    def put(self, place: Kept) -> None:
        data = msgspec.msgpack.encode(place)
        if self._folder is None:
            self._memory[place.name] = data
            return
        # Whoever reads it sees it before or after, also if we are killed here.
        scratch = self._folder / f"{place.name}.new"
        scratch.write_bytes(data)
        scratch.replace(self._file(place.name))

    def drop(self, name: str) -> None:
        if self._folder is None:
            self._memory.pop(name, None)
        else:
            self._file(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        if self._folder is None:
            return sorted(self._memory)
        return sorted(path.stem for path in self._folder.glob("*.place"))

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        """Nobody else changes anything meanwhile; nothing in here may wait."""
        if self._folder is None:
            yield
            return
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def stop(self, name: str) -> None:
        """End a place from outside, as a crash of the runtime would; its files stay."""
        with self.turn():
            if place := self.get(name):
                place.state = "stopped"
                self.put(place)

    def remove(self, name: str) -> None:
        """Remove a place from outside; its snapshots stay."""
        with self.turn():
            if place := self.get(name):
                place.state, place.files = "gone", {}
                self.put(place)

    def _file(self, name: str) -> Path:
        assert self._folder is not None, "kept in memory"
        return self._folder / f"{name}.place"


def digest_of(files: Files) -> str:
    """Over paths and content, with lengths, so that nothing can pass for something else."""
    hashed = hashlib.sha256()
    for path in sorted(files):
        for part in (path.encode(), files[path]):
            hashed.update(len(part).to_bytes(8, "big"))
            hashed.update(part)
    return f"sha256:{hashed.hexdigest()}"
