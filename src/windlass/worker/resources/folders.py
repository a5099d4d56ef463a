"""Folders of runs, as the disk tells of them."""

from itertools import chain
from pathlib import Path


def untouched(folder: Path, before: float) -> bool:
    """Whether nothing in a folder was changed since a time; what cannot be read is left alone."""
    try:
        return all(p.lstat().st_mtime < before for p in chain([folder], folder.rglob("*")))
    except OSError:
        return False
