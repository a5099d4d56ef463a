"""Blobs as files in one folder; several servers share it as a volume."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from windlass.model.errors import BadRequest, NotFound


class FileBlobs:
    """Keys are relative paths below the folder."""

    where = "files"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def scratch(self, name: str) -> Path:
        place = place_of(self._folder / "scratch", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    async def keep(self, key: str, scratch: Path) -> None:
        await asyncio.to_thread(self._keep, self._place(key), scratch)

    def _keep(self, place: Path, scratch: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(place)
        self._sync(place.parent)

    async def path(self, key: str) -> Path:
        place = self._place(key)
        if not place.is_file():
            raise NotFound(f'nothing is kept under "{key}"')
        return place

    async def present(self, keys: Sequence[str]) -> set[str]:
        def look() -> set[str]:
            return {key for key in keys if self._place(key).is_file()}

        return await asyncio.to_thread(look)

    async def remove(self, key: str) -> None:
        await asyncio.to_thread(self._place(key).unlink, missing_ok=True)

    def _place(self, key: str) -> Path:
        return place_of(self._folder / "kept", key)

    @staticmethod
    def _sync(folder: Path) -> None:
        # The file's name is durable only once its folder is.
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def place_of(folder: Path, key: str) -> Path:
    """Where a key is below a folder, and nowhere else."""
    parts = key.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise BadRequest(f'"{key[:80]}" cannot be the name of something kept')
    return folder.joinpath(*parts)
