"""Puts the files of an archive on disk, and makes sure they stay there."""

import os
from pathlib import Path
from typing import BinaryIO

from windlass.protocol.packages.archive import Contents, Limits, chunks, opened
from windlass.protocol.packages.digest import sha256_of
from windlass.protocol.packages.errors import invalid
from windlass.protocol.packages.manifest import Manifest


def extract(source: BinaryIO, contents: Contents, folder: Path, limits: Limits) -> None:
    """Write what was inspected, and only that, below a new folder."""
    with opened(source, limits) as archive:
        for file in contents.files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(file.name) as packed, target.open("xb") as out:
                for chunk in chunks(packed):
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())


def check_resources(manifest: Manifest, folder: Path) -> None:
    """Every file the manifest declares is there and is what its author meant."""
    for resource in manifest.resources:
        path = folder / resource.path
        if not path.exists():
            raise invalid(f"the resource {resource.path} is declared and not there")
        if resource.digest:
            if not path.is_file():
                raise invalid(f"the resource {resource.path} is a folder, so it has no digest")
            with path.open("rb") as file:
                found = sha256_of(file)
            if found != resource.digest:
                text = f"the resource {resource.path} has the SHA-256 {found}"
                raise invalid(f"{text}, not {resource.digest}")


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder last over a power cut."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sync_tree(folder: Path) -> None:
    """The same for every folder below one; its files were synced as they were written."""
    for place, _, _ in os.walk(folder):
        sync_folder(Path(place))
