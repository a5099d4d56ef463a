"""Which browser a program is. To ask it takes as long as half a start, so the answer is kept."""

import asyncio
import shutil
from pathlib import Path

import msgspec

from windlass.ports.env import RuntimeAway


class _Kept(msgspec.Struct, frozen=True):
    program: str
    changed: int
    size: int
    version: str = ""


async def version_of(program: str, kept: Path) -> str:
    """What a program says of itself; `kept` is the file where that is remembered."""
    known = _fingerprint(program)
    version = _remembered(known, kept)
    if not version:
        version = await _ask(program)
        if known is not None:
            _remember(msgspec.structs.replace(known, version=version), kept)
    return version


def _remembered(known: _Kept | None, kept: Path) -> str:
    try:
        found = msgspec.json.decode(kept.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return ""  # nobody has asked yet
    return found.version if msgspec.structs.replace(found, version="") == known else ""


def _remember(told: _Kept, kept: Path) -> None:
    scratch = kept.with_suffix(".new")
    scratch.write_bytes(msgspec.json.encode(told))
    scratch.replace(kept)


def _fingerprint(program: str) -> _Kept | None:
    where = shutil.which(program)
    if where is None:
        return None
    stat = Path(where).stat()
    return _Kept(where, stat.st_mtime_ns, stat.st_size)


async def _ask(program: str) -> str:
    try:
        asked = await asyncio.create_subprocess_exec(
            program,
            "--version",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        said, _ = await asked.communicate()
    except OSError as error:
        raise RuntimeAway(f"{program} cannot be started: {error.strerror}") from error
    return said.decode(errors="replace").strip() or "Chromium"
