"""Package archives: built so that equal files give equal bytes, looked into without trusting them.

`inspect` reads every byte under limits and writes nothing. Whoever extracts afterwards works from
its list and the same open file, so what was checked is what is written.
"""

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import msgspec

from windlass.protocol.packages.checks import read_manifest
from windlass.protocol.packages.digest import CHUNK_BYTES, content_digest
from windlass.protocol.packages.errors import invalid
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import MANIFEST, SIGNATURE, folded, path_flaw

SUFFIX = ".cwx"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LOCAL_HEADER_BYTES = 30
_DIRECTORY_END = b"PK\5\6"
_DIRECTORY_END_BYTES = 22
_LOCATOR = b"PK\6\7"
_LOCATOR_BYTES = 20
_TAIL_BYTES = _DIRECTORY_END_BYTES + 0xFFFF
"""Where the end of the list of files can be, with the longest comment behind it."""
_ENTRY_BYTES_MAX = 512
_SMALL_BYTES = 1 << 20
"""Below this a file may shrink as far as it likes: it cannot become a bomb."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive may cost whoever opens it."""

    archive_bytes: int = 256 << 20
    total_bytes: int = 1 << 30
    file_bytes: int = 512 << 20
    manifest_bytes: int = 1 << 20
    entries: int = 20_000
    ratio: int = 200


class File(msgspec.Struct, frozen=True):
    name: str
    size: int
    sha256: str


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What is in an archive that passed every check."""

    manifest: Manifest
    manifest_text: bytes
    files: tuple[File, ...]
    digest: str
    """Over all files except the signature, which covers it."""
    signature: bytes | None = None

    def has(self, name: str) -> bool:
        return any(file.name == name for file in self.files)


def build(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of the files: sorted, without times or owners, so it depends on nothing else."""
    found = sorted(files)
    _check_names([name for name, _ in found])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in found:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, so that the mode below is one
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def inspect(
    source: BinaryIO, limits: Limits | None = None, *, name: str = "", version: str = ""
) -> Contents:
    """Everything about an archive, or PackageError or DefinitionError; nothing is written.

    With `name` and `version` the manifest must say the same: an archive may not pose as another.
    """
    bounds = limits or Limits()
    with opened(source, bounds) as archive:
        infos = _members(archive, bounds)
        files: list[File] = []
        kept: dict[str, bytes] = {}
        for info in infos:
            keep = info.filename in (MANIFEST, SIGNATURE)
            digest, data = _read(archive, info, keep=keep)
            files.append(File(info.filename, info.file_size, digest))
            if keep:
                kept[info.filename] = data
    if MANIFEST not in kept:
        raise invalid(f"the archive has no {MANIFEST} at its root")
    manifest = read_manifest(kept[MANIFEST])
    _check_identity(manifest, name, version)
    covered = [(file.name, file.sha256) for file in files if file.name != SIGNATURE]
    return Contents(
        manifest=manifest,
        manifest_text=kept[MANIFEST],
        files=tuple(files),
        digest=content_digest(covered),
        signature=kept.get(SIGNATURE),
    )


def contents_of(source: BinaryIO, limits: Limits | None = None) -> list[tuple[str, bytes]]:
    """All files of an archive in memory, for building another from them."""
    bounds = limits or Limits()
    with opened(source, bounds) as archive:
        infos = _members(archive, bounds)
        return [(info.filename, _read(archive, info, keep=True)[1]) for info in infos]


@contextmanager
def opened(source: BinaryIO, limits: Limits) -> Generator[zipfile.ZipFile]:
    """The zip in `source`; whatever is wrong with it becomes one clear error."""
    source.seek(0, io.SEEK_END)
    if source.tell() > limits.archive_bytes:
        raise invalid(f"the archive has more than {limits.archive_bytes} bytes")
    _check_directory(source, limits)
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise invalid(f"the archive is damaged: {error}") from error
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise invalid(f"the archive cannot be read: {error}") from error


def _check_directory(source: BinaryIO, limits: Limits) -> None:
    """Refuse a list of files too long to be read: reading it makes an object of every entry."""
    size = source.seek(0, io.SEEK_END)
    source.seek(max(0, size - _TAIL_BYTES))
    tail = source.read()
    source.seek(0)
    # Found as zipfile finds it: at the very end if there is no comment.
    last = len(tail) - _DIRECTORY_END_BYTES
    plain = tail[max(0, last) :].startswith(_DIRECTORY_END) and tail.endswith(b"\0\0")
    at = last if plain else tail.rfind(_DIRECTORY_END)
    if at < 0 or at + _DIRECTORY_END_BYTES > len(tail):
        return  # no archive at all, which is for others to say
    if tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_LOCATOR):
        raise invalid("the archive is in the format for huge ones, which it need not be")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > limits.entries * _ENTRY_BYTES_MAX:
        raise invalid(f"the archive has more than {limits.entries} entries")


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _members(archive: zipfile.ZipFile, limits: Limits) -> list[zipfile.ZipInfo]:
    """The files of an archive, after every check that needs no content."""
    infos = archive.infolist()
    if len(infos) > limits.entries:
        raise invalid(f"the archive has more than {limits.entries} entries")
    for info in infos:
        _check_member(info, limits)
    if sum(info.file_size for info in infos) > limits.total_bytes:
        raise invalid(f"the archive unpacks to more than {limits.total_bytes} bytes")
    _check_overlap(infos)
    _check_names([info.filename for info in infos])
    return [info for info in infos if not info.is_dir()]


def _check_member(info: zipfile.ZipInfo, limits: Limits) -> None:
    shown = f'"{info.filename[:80]}"'
    if info.orig_filename != info.filename:
        raise invalid(f"{shown}: the name holds a NUL or a backslash")
    if info.flag_bits & _ENCRYPTED:
        raise invalid(f"{shown} is encrypted")
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise invalid(f"{shown} is a link or a special file; only plain files are taken")
    if info.compress_type not in _METHODS:
        raise invalid(f"{shown} is compressed in a way we do not read; use deflate")
    most = limits.manifest_bytes if info.filename in (MANIFEST, SIGNATURE) else limits.file_bytes
    if info.file_size > most:
        raise invalid(f"{shown} has more than {most} bytes")
    if info.file_size > max(_SMALL_BYTES, info.compress_size * limits.ratio):
        raise invalid(f"{shown} is compressed more than {limits.ratio} times; this is a bomb")


def _check_overlap(infos: list[zipfile.ZipInfo]) -> None:
    """Entries that share bytes unpack to far more than the archive's size allows."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise invalid(f'"{info.filename[:80]}" overlaps another entry')
        name_bytes = len(info.orig_filename.encode("utf-8", "surrogateescape"))
        if info.flag_bits & 0x800 == 0:
            name_bytes = len(info.orig_filename)  # one byte a letter in the old code page
        end = info.header_offset + _LOCAL_HEADER_BYTES + name_bytes + info.compress_size


def _check_names(names: list[str]) -> None:
    """Every name is safe, and no two would meet in one place on any file system."""
    files: dict[str, str] = {}
    folders: set[str] = set()
    for name in names:
        path = name.removesuffix("/")
        flaw = path_flaw(path)
        if flaw:
            raise invalid(f'"{path[:80]}" {flaw}')
        plain = folded(path)
        parts = plain.split("/")
        folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
        if name.endswith("/"):
            folders.add(plain)
        elif plain in files:
            raise invalid(f'"{path[:80]}" is there twice, also as "{files[plain][:80]}"')
        else:
            files[plain] = path
    both = folders & files.keys()
    if both:
        raise invalid(f'"{files[min(both)][:80]}" is a file and a folder')


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, keep: bool) -> tuple[str, bytes]:
    """A file's digest, and its bytes if they are wanted; zipfile checks size and checksum."""
    found = hashlib.sha256()
    data: list[bytes] = []
    with archive.open(info) as file:
        for chunk in chunks(file):
            found.update(chunk)
            if keep:
                data.append(chunk)
    return found.hexdigest(), b"".join(data)


def _check_identity(manifest: Manifest, name: str, version: str) -> None:
    if name and manifest.name != name:
        raise invalid(f'the manifest says it is "{manifest.name}", not "{name}"')
    if version and manifest.version != version:
        raise invalid(f'the manifest says version "{manifest.version}", not "{version}"')
