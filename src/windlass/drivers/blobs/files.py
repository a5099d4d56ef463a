"""Blobs as files in one folder; several servers share it as a volume."""

import os
from pathlib import Path

from windlass.model.errors import BadRequest, NotFound


class FileBlobs:
    """Keys are relative paths below the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def scratch(self, name: str) -> Path:
        place = self._place("scratch", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def keep(self, key: str, scratch: Path) -> None:
        place = self._place("kept", key)
        place.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(place)
        self._sync(place.parent)

    def path(self, key: str) -> Path:
        place = self._place("kept", key)
        if not place.is_file():
            raise NotFound(f'nothing is kept under "{key}"')
        return place

    def remove(self, key: str) -> None:
        self._place("kept", key).unlink(missing_ok=True)

    def _place(self, room: str, key: str) -> Path:
        parts = key.split("/")
        if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
            raise BadRequest(f'"{key[:80]}" cannot be the name of something kept')
        return self._folder.joinpath(room, *parts)

    @staticmethod
    def _sync(folder: Path) -> None:
        # The file's name is durable only once its folder is.
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
