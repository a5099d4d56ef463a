"""The cases of the benchmark: which workload, in which mode, against which targets."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass.testing.bench.aged import age
from windlass.testing.bench.packages import w8
from windlass.testing.bench.served import WORKLOADS as SERVED
from windlass.testing.bench.served import served
from windlass.testing.servers import PostgresServer
from windlass.wiring.stores import migrate


class Case(NamedTuple):
    """One line of the report. `figure` is the one that is compared."""

    name: str
    mode: str
    """`embedded`, `served` (a pull worker) or `linked` (a worker on the link)."""
    store: str
    workload: str
    figure: str
    target: float | None = None
    """At least this for rates, at most this for times."""
    numbers: tuple[int, ...] = ()
    aged: int = 0


def cases(*, quick: bool) -> list[Case]:
    """All cases, or the small fixed slice that continuous integration runs."""
    if quick:
        return [
            Case("W1", "embedded", "sqlite", "w1", "tasks_s", None, (600,)),
            Case("W2", "embedded", "sqlite", "w2", "p50_ms", None, (40,)),
            Case("W1", "embedded", "postgres", "w1", "tasks_s", None, (600,)),
            Case("W2", "embedded", "postgres", "w2", "p50_ms", None, (40,)),
        ]
    found: list[Case] = []
    targets: dict[tuple[str, str], tuple[float, float, float, float]] = {
        ("embedded", "sqlite"): (5000, 6, 0.3, 40),
        ("embedded", "postgres"): (4000, 10, 0.4, 50),
        ("served", "postgres"): (2000, 14, 0.6, 70),
        ("served", "sqlite"): (2000, 14, 0.6, 70),
    }
    for (mode, store), (w1, w2, w3, w3_large) in targets.items():
        found += [
            Case("W1", mode, store, "w1", "tasks_s", w1),
            Case("W2", mode, store, "w2", "p50_ms", w2),
            Case("W3 1,000", mode, store, "w3", "seconds", w3),
            Case("W3 100,000", mode, store, "w3", "seconds", w3_large, (100_000,)),
            Case("W4 idle", mode, store, "w4", "rss_mib", 120),
        ]
    for store in STORES:
        found += [
            Case("W1", "linked", store, "w1", "tasks_s", 2000),
            Case("W2", "linked", store, "w2", "p50_ms", 14),
            Case("W8 packages", "linked", store, "w8", "tasks_s", 1500),
        ]
    found.append(Case("W8 idle", "linked", "sqlite", "w8", "p50_ms", 10, (50,)))
    found += [Case("W5 kill -9", "served", store, "w5", "seconds", 15) for store in STORES]
    found += [Case("W6 10,000 people", "embedded", s, "w6", "answer_s", 60) for s in STORES]
    found += [Case("W7 aged W1", "embedded", s, "w1", "share", 0.9, (), 1_000_000) for s in STORES]
    return found


STORES = ("sqlite", "postgres")


def run_case(
    case: Case, folder: Path, postgres: PostgresServer, best_of: int = 1
) -> dict[str, float]:
    """Measure one case: on a fresh database, or an aged one turn about with fresh ones."""
    if case.aged:
        return _beside_fresh(case, folder, postgres, best_of)
    return _on_new(case, folder, postgres)


def _beside_fresh(
    case: Case, folder: Path, postgres: PostgresServer, best_of: int
) -> dict[str, float]:
    """The best on an aged database as a share of the best on fresh ones, in the same minutes."""
    with _database(case, folder, postgres) as old:
        asyncio.run(_aged(old, case.aged))
        fresh, aged = list[float](), list[dict[str, float]]()
        for _ in range(best_of):
            fresh.append(_on_new(case, folder, postgres)["tasks_s"])
            aged.append(_embedded(old, case))
    best = max(aged, key=lambda figures: figures["tasks_s"])
    return {**best, "fresh_tasks_s": max(fresh), "share": best["tasks_s"] / max(fresh)}


def _on_new(case: Case, folder: Path, postgres: PostgresServer) -> dict[str, float]:
    with _database(case, folder, postgres) as db:
        if case.mode == "embedded":
            return _embedded(db, case)
        return asyncio.run(_served(db, case, folder))


@contextmanager
def _database(case: Case, folder: Path, postgres: PostgresServer) -> Generator[str]:
    """An empty database, gone afterwards."""
    name = f"{case.workload}-{case.mode}-{len(list(folder.iterdir()))}"
    db = f"sqlite:///{folder / name}.db" if case.store == "sqlite" else postgres.new_database()
    try:
        yield db
    finally:
        if case.store == "postgres":
            postgres.drop_database(db)


async def _aged(db: str, count: int) -> None:
    await migrate(db)
    await age(db, count)


def _embedded(db: str, case: Case) -> dict[str, float]:
    command = [sys.executable, "-m", "windlass.testing.bench.embedded", db, case.workload]
    done = subprocess.run(
        [*command, *map(str, case.numbers)], capture_output=True, check=False, timeout=1200
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode()[-2000:])
    figures: dict[str, float] = msgspec.json.decode(done.stdout)
    return figures


async def _served(db: str, case: Case, folder: Path) -> dict[str, float]:
    workload: Any = {**SERVED, "w8": w8}[case.workload]
    transport = "link" if case.mode == "linked" else "pull"
    async with served(db, folder, transport=transport) as system:
        figures: dict[str, float] = await workload(system, *case.numbers)
    return figures
