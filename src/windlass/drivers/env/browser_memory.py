"""How much memory browsers use, each with all its parts.

What parts share is counted once, as far as the system tells; that takes a while to find out, so it
is asked only of those whose parts together look too large.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


def sessions() -> dict[int, list[int]]:
    """All processes there are, by the leader of their session: a browser leads its parts."""
    found: dict[int, list[int]] = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found[os.getsid(int(entry.name))].append(int(entry.name))
            except OSError:
                continue  # it has ended
    return found


def used_bytes(parts: Iterable[int], most: int) -> int:
    """What processes use together; exact only above `most`."""
    parts = list(parts)
    rough = sum(map(_resident, parts))
    return rough if rough <= most else sum(map(_shared_once, parts))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def _shared_once(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        return 0
    return 0
