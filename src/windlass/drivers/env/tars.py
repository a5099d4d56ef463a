"""Files in and out of a place as tar archives, and the digest of all that is in one."""

import hashlib
import io
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

# What the runtime itself puts into every place, which differs from one start to the next.
_RUNTIME_S = ("proc", "sys", "dev")
_RUNTIME_FILES = frozenset(
    ("etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab", "run/.containerenv", ".dockerenv")
)
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


def digest_of(pieces: Iterator[bytes]) -> str:
    """Over path, kind, mode, owner, link and content of everything, in no order; not over times."""
    entries: list[bytes] = []
    with tarfile.open(fileobj=_Pieces(pieces), mode="r|") as archive:
        for entry in archive:
            name = PurePosixPath("/", entry.name).as_posix().lstrip("/")
            if not name or name in _RUNTIME_FILES or name.split("/", 1)[0] in _RUNTIME_S:
                continue
            entries.append(_digest_of_entry(archive, entry, name))
    whole = hashlib.sha256()
    for one in sorted(entries):
        whole.update(one)
    return f"sha256:{whole.hexdigest()}"


def _digest_of_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo, name: str) -> bytes:
    link = entry.linkname if entry.issym() or entry.islnk() else ""
    kind = "hard" if entry.islnk() else entry.type.decode()
    hashed = hashlib.sha256()
    for part in (name, kind, oct(entry.mode & 0o7777), str(entry.uid), str(entry.gid), link):
        told = part.encode(errors="surrogateescape")
        hashed.update(len(told).to_bytes(4, "big") + told)
    if entry.isfile() and (content := archive.extractfile(entry)):
        while piece := content.read(_PIECE):
            hashed.update(piece)
    return hashed.digest()


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
