"""Where a run keeps its files below the data folder; worker and host must agree on it."""

import hashlib
import re
from pathlib import Path

PART_CHARS_MAX = 80


def safe_part(name: str) -> str:
    """A name as one part of a path; names that had to change keep apart by a digest."""
    found = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:PART_CHARS_MAX].strip(".")
    if found and found == name:
        return found
    return f"{found or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def run_dir(data_dir: Path, run_id: str) -> Path:
    return data_dir / "runs" / safe_part(run_id or "none")


def task_dir(data_dir: Path, run_id: str, task_id: str) -> Path:
    return run_dir(data_dir, run_id) / safe_part(task_id or "none")
