"""SHA-256 as packages use it: hexadecimal, with or without a `sha256:` prefix."""

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import BinaryIO

from windlass.protocol.packages.errors import invalid

CHUNK_BYTES = 1 << 20
PREFIX = "sha256:"

_HEX = re.compile(r"[0-9a-f]{64}")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_of(file: BinaryIO) -> str:
    """The digest of a file from where it stands to its end."""
    found = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        found.update(chunk)
    return found.hexdigest()


def is_digest(text: str) -> bool:
    return _HEX.fullmatch(text.strip().lower().removeprefix(PREFIX)) is not None


def plain(text: str) -> str:
    """A digest as we compare and store it: lower case, without its prefix."""
    found = text.strip().lower().removeprefix(PREFIX)
    if not _HEX.fullmatch(found):
        raise invalid(f'"{text[:80]}" is not a SHA-256 digest; give 64 hexadecimal digits')
    return found


def same(one: str, other: str) -> bool:
    return hmac.compare_digest(plain(one), plain(other))


def content_digest(files: Iterable[tuple[str, str]]) -> str:
    """One digest over the names and digests of all files, whatever order or zip they come in."""
    found = hashlib.sha256()
    for name, content in sorted(files):
        # The length keeps two names from running into each other.
        encoded = name.encode()
        found.update(f"{len(encoded)}:".encode() + encoded + bytes.fromhex(content))
    return found.hexdigest()
