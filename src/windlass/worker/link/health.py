"""What a heartbeat says about the machine and the work in hand."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil


class Health:
    """Reads processor, memory and disk use; cheap enough for every heartbeat."""

    def __init__(self, data_dir: Path, resources: Callable[[], dict[str, Any]]) -> None:
        self._data_dir = data_dir
        self._resources = resources
        self._process = psutil.Process()
        self._started = time.monotonic()
        psutil.cpu_percent()  # the first reading is the start of the next one's interval

    def metrics(self, inflight: int, held: list[str]) -> dict[str, Any]:
        resources = self._resources()
        return {
            "inflight": inflight,
            "cpu_pct": psutil.cpu_percent(),
            "mem_pct": psutil.virtual_memory().percent,
            "disk_pct": self._disk_pct(),
            "rss_bytes": self._process.memory_info().rss,
            "uptime_s": round(time.monotonic() - self._started),
            "held": held,
            "resource": resources,
            "resource_handles": resources.get("handles", 0),
            "resource_bytes": resources.get("disk_bytes_in_use", 0),
        }

    def _disk_pct(self) -> float:
        place = self._data_dir if self._data_dir.exists() else Path.cwd()
        return float(psutil.disk_usage(str(place)).percent)
