"""Which names a package may use: its own, those of its files, those of its Python objects."""

import re
import unicodedata

PACKAGE_PATTERN = r"[a-z0-9]+([._-][a-z0-9]+)*"
TYPE_PATTERN = r"[A-Za-z0-9_.-]+"
OBJECT_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
ENTRY_PATTERN = rf"{OBJECT_PATTERN}(:{OBJECT_PATTERN})?"

MANIFEST = "manifest.json"
SIGNATURE = "signature.json"
ENVIRONMENT = ".venv"
STATE = ".windlass"
RESERVED = frozenset({ENVIRONMENT, STATE})
"""Folders the worker makes inside an installed version, so no package may bring them."""

NAME_CHARS_MAX = 100
PATH_CHARS_MAX = 400
PART_BYTES_MAX = 200

_PACKAGE = re.compile(PACKAGE_PATTERN)
_DRIVE = re.compile(r"[A-Za-z]:")


def is_package_name(name: str) -> bool:
    return len(name) <= NAME_CHARS_MAX and _PACKAGE.fullmatch(name) is not None


def path_flaw(path: str) -> str:
    """Why a path inside a package is not safe to write below its folder; empty if it is."""
    if not path or len(path) > PATH_CHARS_MAX:
        return "is empty" if not path else "is too long"
    if any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "holds a control character"
    if "\\" in path:
        return "holds a backslash"
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return 'has an empty, "." or ".." part'
    if any(len(part.encode("utf-8", "surrogatepass")) > PART_BYTES_MAX for part in parts):
        return "has a part that is too long"
    if folded(parts[0]) in RESERVED:
        return f'is below "{parts[0]}", which belongs to the worker'
    return ""


def folded(path: str) -> str:
    """A path as a file system that ignores case or composition would see it."""
    return unicodedata.normalize("NFC", path).casefold()
