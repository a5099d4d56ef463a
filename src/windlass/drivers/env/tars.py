"""Files in and out of a place as tar archives, and the digest of all that is in one."""

import hashlib
import io
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from windlass.drivers.env.contents import Content, entry_of, is_counted

_PIECE = 1 << 20


def archive_of(
    folders: Iterable[str], path: str, data: bytes | None, owner: tuple[int, int]
) -> bytes:
    """Folders and perhaps one file, each owned by the place's user."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders:
            archive.addfile(_entry(folder, owner, tarfile.DIRTYPE, 0o755))
        if data is not None:
            entry = _entry(path, owner, tarfile.REGTYPE, 0o644)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def only_file(packed: bytes) -> bytes | None:
    """The one file of an archive; nothing if it is something else, such as a folder."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        entry = archive.next()
        if entry is None or not entry.isfile():
            return None
        content = archive.extractfile(entry)
        return None if content is None else content.read()


def contents_of(pieces: Iterator[bytes]) -> dict[str, bytes]:
    """By path: what stands for all that counts of a file in an archive; see `contents`."""
    entries: dict[str, bytes] = {}
    seen: dict[str, Content] = {}
    with tarfile.open(fileobj=_Pieces(pieces), mode="r|") as archive:
        for entry in archive:
            name = _name_of(entry.name)
            if not is_counted(name):
                continue
            if entry.islnk():
                content = seen.get(_name_of(entry.linkname)) or Content("hard", entry.linkname)
            else:
                content = _content_of(archive, entry)
            seen[name] = content
            entries[name] = entry_of(name, entry.mode, (entry.uid, entry.gid), content)
    return entries


def _name_of(path: str) -> str:
    return PurePosixPath("/", path).as_posix().lstrip("/")


def _content_of(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Content:
    if not entry.isfile():
        return Content(entry.type.decode(), entry.linkname if entry.issym() else "")
    hashed = hashlib.sha256()
    if content := archive.extractfile(entry):
        while piece := content.read(_PIECE):
            hashed.update(piece)
    return Content("0", "", hashed.digest())


def _entry(path: str, owner: tuple[int, int], kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.type, entry.mode = kind, mode
    entry.uid, entry.gid = owner
    entry.mtime = int(time.time())
    return entry


class _Pieces(io.RawIOBase):
    """Pieces that come one by one, as a file to read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._rest += piece
        size = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
