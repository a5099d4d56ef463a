"""What is in an image, told from its layers, where this process can read the runtime's storage.

A layer holds what it changes: files as they are from then on, a device 0:0 in place of what is
gone, and a mark on folders that replace those below. All but the last layers of a snapshot are
those of an image, whose digest fixes them: what they come to is read once and kept, so a snapshot
costs what was changed in its place, however large the image is.
"""

import errno
import hashlib
import logging
import os
import secrets
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from windlass.drivers.env.contents import Content, entry_of, is_counted

log = logging.getLogger(__name__)

Contents = dict[str, bytes]
"""By path: what stands for all that counts of a file."""
_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")
_NO_SUCH_MARK = (errno.ENODATA, errno.ENOTSUP)
_PIECE = 1 << 20
_KINDS = {
    stat.S_IFREG: "0",
    stat.S_IFLNK: "2",
    stat.S_IFCHR: "3",
    stat.S_IFBLK: "4",
    stat.S_IFDIR: "5",
    stat.S_IFIFO: "6",
}
_IN_MEMORY_MAX = 2
_ON_DISK_MAX = 20


class Layers:
    """What is in images; `folder` keeps what was read of those that many snapshots stand on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: OrderedDict[str, Contents] = OrderedDict()
        # Two snapshots of one image read it once.
        self._turn = threading.Lock()

    def contents(self, image: dict[str, Any], below: int) -> Contents | None:
        """All that is in an image, whose first layers, `below`, are worth keeping in mind; nothing
        where its layers cannot be read."""
        layers, folders = layers_of(image)
        if not folders or not 0 < below <= len(layers):
            return None
        try:
            with self._turn:
                contents = dict(self._base(layers[:below], folders[:below]))
            for folder in folders[below:]:
                apply(contents, folder)
        except OSError as error:
            log.info("layers of %s cannot be read: %s", image.get("Id"), error)
            return None
        return contents

    def _base(self, layers: Sequence[str], folders: Sequence[Path]) -> Contents:
        key = hashlib.sha256(":".join(layers).encode()).hexdigest()
        found = self._known.pop(key, None) or self._kept(key)
        if found is None:
            found = Contents()
            for folder in folders:
                apply(found, folder)
            self._keep(key, found)
        self._known[key] = found
        while len(self._known) > _IN_MEMORY_MAX:
            self._known.popitem(last=False)
        return found

    def _kept(self, key: str) -> Contents | None:
        file = self._folder / f"{key}.layers"
        try:
            found = msgspec.msgpack.decode(file.read_bytes(), type=Contents)
            os.utime(file)
        except (OSError, msgspec.DecodeError):
            return None
        return found

    def _keep(self, key: str, contents: Contents) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        scratch = self._folder / f"{key}.{secrets.token_hex(8)}.new"
        scratch.write_bytes(msgspec.msgpack.encode(contents))
        scratch.replace(self._folder / f"{key}.layers")
        kept = sorted(self._folder.glob("*.layers"), key=lambda file: file.stat().st_mtime)
        for file in kept[:-_ON_DISK_MAX]:
            file.unlink(missing_ok=True)


def layers_of(image: dict[str, Any]) -> tuple[list[str], list[Path]]:
    """An image's layers and their folders, the lowest first; no folders where it has none."""
    driver = cast(dict[str, Any], image.get("GraphDriver") or {})
    data = cast(dict[str, str], driver.get("Data") or {})
    root = cast(dict[str, Any], image.get("RootFS") or {})
    layers = cast(list[str], root.get("Layers") or [])
    if driver.get("Name") not in ("overlay", "overlay2") or not data.get("UpperDir"):
        return layers, []
    lower = [part for part in (data.get("LowerDir") or "").split(":") if part]
    folders = [Path(part) for part in reversed([data["UpperDir"], *lower])]
    return layers, folders if len(folders) == len(layers) else []


def apply(contents: Contents, layer: Path) -> None:
    """Have contents be what they are after a layer."""
    replaced: list[str] = []
    found: dict[str, bytes | None] = {}
    for name, path, seen in _walk(layer):
        is_folder = stat.S_ISDIR(seen.st_mode)
        if not is_folder or _is_opaque(path):
            replaced.append(name)
        gone = stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0
        found[name] = None if gone else _entry(name, path, seen)
    _drop_below(contents, replaced)
    for name, entry in found.items():
        contents.pop(name, None)
        if entry is not None:
            contents[name] = entry


def _drop_below(contents: Contents, replaced: Sequence[str]) -> None:
    """What was in a folder that is gone, or another, or a file by now."""
    gone = set(replaced)
    if not gone:
        return
    for path in [path for path in contents if _parent_in(path, gone)]:
        del contents[path]


def _parent_in(path: str, gone: set[str]) -> bool:
    at = path.rfind("/")
    while at > 0:
        path = path[:at]
        if path in gone:
            return True
        at = path.rfind("/")
    return False


def _walk(layer: Path) -> Iterator[tuple[str, str, os.stat_result]]:
    """Everything in a layer that counts: its name in the place, its path here."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(layer / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if not is_counted(name):
                    continue
                yield name, entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)


def _entry(name: str, path: str, seen: os.stat_result) -> bytes:
    kind = _KINDS.get(stat.S_IFMT(seen.st_mode), "?")
    # Not Path.readlink, which would tell "a//b" as "a/b".
    link = os.readlink(path) if kind == "2" else ""  # noqa: PTH115
    content = _hash_of(path) if kind == "0" else b""
    owner = seen.st_uid, seen.st_gid
    return entry_of(name, stat.S_IMODE(seen.st_mode), owner, Content(kind, link, content))


def _hash_of(path: str) -> bytes:
    hashed = hashlib.sha256()
    with Path(path).open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
    return hashed.digest()


def _is_opaque(path: str) -> bool:
    for name in _OPAQUE:
        try:
            if os.getxattr(path, name, follow_symlinks=False) == b"y":
                return True
        except OSError as error:
            # Whoever may not know is told so, rather than wrong.
            if error.errno not in _NO_SUCH_MARK:
                raise
    return False
