"""Archives that mean harm, by what is wrong with them, and what should be said about each."""

import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable

from tests.packages import archive, manifest

Entry = tuple[zipfile.ZipInfo | str, bytes]


def _zip(*more: Entry, text: bytes | None = None) -> bytes:
    """A package with more entries than it should have, written without our own checks."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", text or json.dumps(manifest()))
        packed.writestr("adapters/tools_main.py", "def run(ctx): return {}\n")
        for name, data in more:
            packed.writestr(name, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _special(name: str, mode: int, data: bytes = b"/etc/passwd") -> Entry:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (mode | 0o777) << 16
    return info, data


def _renamed(old: str, new: str) -> bytes:
    """A name that the zip module itself would not write, put in after the fact."""
    assert len(old) == len(new)
    return _zip((old, b"x")).replace(old.encode(), new.encode())


def _encrypted() -> bytes:
    data = bytearray(_zip(("secret.txt", b"x")))
    at = data.rindex(b"PK\x01\x02")
    flags = struct.unpack_from("<H", data, at + 8)[0]
    struct.pack_into("<H", data, at + 8, flags | 0x1)
    return bytes(data)


def _overlapping() -> bytes:
    """Two names for the same bytes, the trick by which small archives become huge."""
    data = bytearray(_zip(("a.bin", b"x" * 2000), ("b.bin", b"x" * 2000)))
    first = data.index(b"PK\x01\x02")
    entries = [first]
    while (at := data.find(b"PK\x01\x02", entries[-1] + 4)) > 0:
        entries.append(at)
    offset = struct.unpack_from("<I", data, entries[-2] + 42)[0]
    struct.pack_into("<I", data, entries[-1] + 42, offset)
    return bytes(data)


def _liar() -> bytes:
    """An entry that unpacks to more than it says."""
    data = bytearray(_zip(("big.bin", b"\0" * 500_000)))
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 10)
    return bytes(data)


def _bad_checksum() -> bytes:
    data = bytearray(_zip())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 16, 0)
    return bytes(data)


def _many() -> bytes:
    return _zip(*((f"f/{number}", b"") for number in range(20_001)))


def _without_manifest() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("deeper/manifest.json", json.dumps(manifest()))
    return out.getvalue()


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "traversal": (lambda: _zip(("../evil.txt", b"x")), '".." part'),
    "deep traversal": (lambda: _zip(("a/../../evil.txt", b"x")), '".." part'),
    "absolute": (lambda: _zip(("/tmp/evil.txt", b"x")), "is absolute"),
    "drive": (lambda: _zip(("C:/evil.txt", b"x")), "is absolute"),
    "backslash": (lambda: _renamed("dir/evil.txt", "dir\\evil.txt"), "backslash"),
    "nul": (lambda: _renamed("evil_.txt", "evil\0.txt"), "NUL"),
    "control": (lambda: _zip(("a\nb.txt", b"x")), "control character"),
    "long": (lambda: _zip(("a" * 300, b"x")), "too long"),
    "environment": (lambda: _zip((".venv/bin/python", b"x")), "belongs to the worker"),
    "receipt": (lambda: _zip((".Windlass/installed.json", b"{}")), "belongs to the worker"),
    "symlink": (lambda: _zip(_special("link", stat.S_IFLNK)), "link or a special file"),
    "device": (lambda: _zip(_special("device", stat.S_IFCHR)), "link or a special file"),
    "fifo": (lambda: _zip(_special("pipe", stat.S_IFIFO)), "link or a special file"),
    "case": (lambda: _zip(("Adapters/Tools_Main.py", b"x")), "is there twice"),
    "accents": (lambda: _zip(("e\u0301", b"x"), ("\u00e9", b"x")), "is there twice"),
    "file and folder": (lambda: _zip(("a", b"x"), ("a/b", b"x")), "a file and a folder"),
    "encrypted": (_encrypted, "is encrypted"),
    "overlapping": (_overlapping, "overlaps"),
    "bomb": (lambda: _zip(("zeros", b"\0" * (64 << 20))), "bomb"),
    "too many": (_many, "more than 20000 entries"),
    "liar": (_liar, "damaged"),
    "checksum": (_bad_checksum, "damaged"),
    "large manifest": (lambda: _zip(text=b" " * (1 << 20) + b"{}"), "more than"),
    "no manifest": (_without_manifest, "no manifest.json"),
    "another name": (lambda: archive(name="other"), 'it is "other"'),
    "another version": (lambda: archive(version="9.9.9"), 'version "9.9.9"'),
    "no zip": (lambda: b"this is no zip", "damaged"),
    "empty": (lambda: b"", "damaged"),
    "cut off": (lambda: archive()[:-30], "damaged"),
}
