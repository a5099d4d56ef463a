"""What places, snapshots and files in places may be called."""

import posixpath
import re

from windlass.ports.env import PlaceError

WORKSPACE = "/workspace"
"""Where relative paths begin; a place's holder owns it."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
_PATH_MAX = 4_096


def checked_name(name: str) -> str:
    """A place's name, which is never a way out of a folder."""
    if not _NAME.fullmatch(name):
        raise PlaceError(f'"{name[:80]}" cannot name a place: use a-z, 0-9 and "-", at most 63')
    return name


def checked_label(label: str) -> str:
    if not _LABEL.fullmatch(label):
        raise PlaceError(f'"{label[:80]}" cannot name a snapshot: use a-z, 0-9, "_", "." and "-"')
    return label


def whole_path(path: str) -> str:
    """A path from the place's root, without dots."""
    if not path or "\0" in path or len(path) > _PATH_MAX:
        raise PlaceError(f'"{path[:80]}" is no path')
    return posixpath.normpath(posixpath.join(WORKSPACE, path))
