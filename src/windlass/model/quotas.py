"""Quotas: how much a tenant, and each of its projects, may have at once.

A quota is a kind of limit. Its key is `quota:WHAT` for a tenant, `quota:WHAT@PROJECT` for one of
its projects; whatever is under the one is under the other too, and is reserved at both or at none.
Runs hold their place from when they begin until they end, everything else with an attempt.
"""

import re
from collections.abc import Iterable
from math import ceil

from msgspec.structs import replace

from windlass.model.errors import BadRequest
from windlass.model.limits import QUOTAS, Limit, limit_id, read_limits, write_held, write_limits
from windlass.model.pods import PodSpec, amount_of
from windlass.model.rows import Json, Row, Run

RUNS = "runs"
TASKS = "tasks"
ENVS = "envs"
CPU = "cpu"
MEMORY = "memory"
GPU = "gpu"
STORAGE = "storage"
KINDS = (RUNS, TASKS, ENVS, CPU, MEMORY, GPU, STORAGE)
MEASURED = {CPU: 1000, MEMORY: 1, GPU: 1, STORAGE: 1}
"""What is taken by amounts, and how many of what is kept one of it is: processors are kept in
thousandths, memory and storage in MiB."""
_PROJECT = "project\t"
"""With a tab, which stands in nobody's key."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_MIB = 1024 * 1024
PRIORITY_MAX = 1_000_000


class QueuedRun(Row, frozen=True, kw_only=True):
    """A run that waits for its place; the row goes when it begins, or is cancelled."""

    TABLE = "run_queue"
    FIXED = frozenset({"tenant", "limits"})
    id: str
    tenant: str
    limits: Json
    """What it holds once it begins."""
    parked: str
    """The limit that it waits for."""
    turn: str
    """Its place in the line: by priority, then by age."""


def is_queued(run: Run) -> bool:
    """Whether a run waits for its place, and has yet to begin."""
    return bool(run.quota) and run.started_at is None and run.finished_at is None


def turn_of(priority: int, created_at: int, run_id: str) -> str:
    return f"{PRIORITY_MAX - priority:07} {created_at:014} {run_id}"


def quota_key(what: str, project: str = "") -> str:
    return f"{QUOTAS}{what}@{project}" if project else f"{QUOTAS}{what}"


def what_of(key: str) -> str:
    """Which quota a key is of; empty if of none."""
    what = key.removeprefix(QUOTAS).partition("@")[0] if key.startswith(QUOTAS) else ""
    return what if what in KINDS else ""


def project_of(key: str) -> str:
    return key.partition("@")[2]


def is_measured(key: str) -> bool:
    """Whether attempts take an amount of it, and not a place."""
    return what_of(key) in MEASURED


def levels(what: str, project: str) -> tuple[str, ...]:
    """The keys that something is under: its tenant's, and its project's if it has one."""
    return (quota_key(what), quota_key(what, project)) if project else (quota_key(what),)


def project_mark(project: str) -> Limit:
    """Says among a task's limits which project it is of; it bounds nothing itself."""
    return Limit(_PROJECT + project)


def marked_project(limits: Iterable[Limit]) -> str:
    """The project that a task's limits say it is of."""
    keys = (limit.key for limit in limits if limit.key.startswith(_PROJECT))
    return next(keys, _PROJECT).removeprefix(_PROJECT)


def is_mark(key: str) -> bool:
    return key.startswith(_PROJECT)


def is_reserved(key: str) -> bool:
    """Whether definitions may not make such a key, as it is a quota's."""
    return key.startswith(QUOTAS)


def check_quota(pattern: str) -> str:
    """What a rule on quotas is about, or `BadRequest`; a rule is of one kind, as they are counted
    in different things."""
    what = what_of(pattern.removesuffix("*"))
    if not what or (pattern.endswith("*") and "@" not in pattern):
        there = ", ".join(quota_key(kind) for kind in KINDS)
        raise BadRequest(
            f'"{pattern}" is no quota; there are {there}, and the same of a project, as in'
            f" {quota_key(RUNS, 'NAME')}"
        )
    if what == STORAGE and "@" in pattern:
        raise BadRequest(f"files belong to no project; give {quota_key(STORAGE)}, of the tenant")
    check_project(project_of(pattern).removesuffix("*").rstrip("-"))
    return what


def wants_of(pod: PodSpec) -> list[Limit]:
    """What a pod takes of its tenant's quotas."""
    amounts = {
        CPU: ceil(amount_of(pod.cpu) * MEASURED[CPU]),
        MEMORY: mebibytes(ceil(amount_of(pod.memory))),
        GPU: pod.gpu,
    }
    return [Limit(quota_key(what), estimate=some) for what, some in amounts.items() if some]


def with_memory(limits: Json, factor: float) -> Json:
    """What a task takes once it has so many times the memory."""
    listed = read_limits(limits)
    return write_limits(
        replace(limit, estimate=ceil(limit.estimate * factor))
        if what_of(limit.key) == MEMORY
        else limit
        for limit in listed
    )


def mebibytes(size_bytes: int) -> int:
    return ceil(size_bytes / _MIB)


def write_quota(tenant: str, keys: Iterable[str]) -> Json:
    """What a run holds while it goes on; empty if it is under no quota."""
    return write_held(dict.fromkeys(limit_id(tenant, key) for key in keys))


def check_project(name: str) -> str:
    """A project's name, or `BadRequest`."""
    if name and not _NAME.fullmatch(name):
        raise BadRequest(
            f"{name[:80]!r} cannot be a project's name: up to 63 small letters, digits and hyphens"
        )
    return name


def shown(what: str, amount: int) -> str:
    """An amount as people read it."""
    scale = MEASURED.get(what, 1)
    text = f"{amount / scale:g}" if scale > 1 else str(amount)
    return f"{text} MiB" if what in (MEMORY, STORAGE) else text
