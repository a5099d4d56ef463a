"""What counts of the files of a place, and the digest over all of them.

Path, kind, mode, owner, link and content count; times do not, nor whether two files are one under
two names: a runtime tells that in one way and not in another.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from windlass.ports.env import FILES_TOLD_MAX, FileChanges

_PATH_CHARS_MAX = 300
"""Of longer paths the end is told."""

# What the runtime itself puts into every place, which differs from one start to the next.
_RUNTIME_S = ("proc", "sys", "dev")
_RUNTIME_FILES = frozenset(
    ("etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab", "run/.containerenv", ".dockerenv")
)


class Content(NamedTuple):
    kind: str
    """As archives have it: `0` a file, `2` a link, `5` a folder, and so on."""
    link: str = ""
    hashed: bytes = b""


def is_counted(name: str) -> bool:
    """Whether a path, without a slash before it, is the place's own."""
    return bool(name) and name not in _RUNTIME_FILES and name.split("/", 1)[0] not in _RUNTIME_S


def entry_of(name: str, mode: int, owner: tuple[int, int], content: Content) -> bytes:
    """What stands for all that counts of one."""
    hashed = hashlib.sha256(content.hashed)
    parts = (name, content.kind, oct(mode & 0o7777), str(owner[0]), str(owner[1]), content.link)
    for part in parts:
        told = part.encode(errors="surrogateescape")
        hashed.update(len(told).to_bytes(4, "big") + told)
    return hashed.digest()


def digest_of(entries: Iterable[bytes]) -> str:
    """Over all of them, in no order."""
    whole = hashlib.sha256()
    for one in sorted(entries):
        whole.update(one)
    return f"sha256:{whole.hexdigest()}"


def changes_of(
    before: Mapping[str, bytes], after: Mapping[str, bytes], root: str = ""
) -> FileChanges:
    """What is another, of what stands for each file by its path below `root`."""
    added, changed, removed = list[str](), list[str](), list[str]()
    differ = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    for path in differ[:FILES_TOLD_MAX]:
        kind = added if path not in before else changed if path in after else removed
        kind.append(_shown(f"{root}/{path}"))
    more = max(0, len(differ) - FILES_TOLD_MAX)
    return FileChanges(added=added, changed=changed, removed=removed, more=more)


def _shown(path: str) -> str:
    """A path as text: names may be any bytes, and of any length."""
    text = path.encode(errors="surrogateescape").decode(errors="replace")
    return text if len(text) <= _PATH_CHARS_MAX else f"…{text[1 - _PATH_CHARS_MAX :]}"
