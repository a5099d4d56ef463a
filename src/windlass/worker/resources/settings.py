"""How much a worker keeps and for how long; the variables are those of the seed."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

INLINE_LIMIT_BYTES = 2 * 1024 * 1024
TTL_S = 3600.0
GC_INTERVAL_S = 60.0
RUN_FOLDER_S = 24 * 3600.0

_PREFIX = "ASTRA_WORKER_"


class ResourceSettings(msgspec.Struct, frozen=True, kw_only=True):
    data_dir: Path
    worker_id: str
    ttl_s: float = TTL_S
    """How long a resource may lie idle unless it says otherwise."""
    inline_limit_bytes: int = INLINE_LIMIT_BYTES
    """Results above this are kept in a file, and travel by reference."""
    disk_bytes_max: int = 0
    """Above this the least recently used files go; 0: no limit."""
    mem_bytes_max: int = 0
    gc_interval_s: float = GC_INTERVAL_S
    run_folder_s: float = RUN_FOLDER_S
    """How long a run's folder may lie untouched if nobody says that the run has ended."""


def resource_settings(
    data_dir: Path, worker_id: str, env: Mapping[str, str] | None = None
) -> ResourceSettings:
    """Settings from the environment; what is not a number there is an error worth stopping for."""
    env = os.environ if env is None else env

    def number(name: str, default: float) -> float:
        return float(env.get(_PREFIX + name) or default)

    return ResourceSettings(
        data_dir=data_dir,
        worker_id=worker_id,
        ttl_s=number("RESOURCE_DEFAULT_TTL_SECONDS", TTL_S),
        inline_limit_bytes=int(number("INLINE_RESULT_LIMIT_BYTES", INLINE_LIMIT_BYTES)),
        disk_bytes_max=int(number("RESOURCE_MAX_DISK_BYTES", 0)),
        mem_bytes_max=int(number("RESOURCE_MAX_MEM_BYTES", 0)),
        gc_interval_s=number("RESOURCE_GC_INTERVAL_SECONDS", GC_INTERVAL_S),
        run_folder_s=number("RUN_FOLDER_TTL_SECONDS", RUN_FOLDER_S),
    )
