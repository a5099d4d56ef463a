"""The schema and the row types agree, and migrating twice is migrating once."""

import sqlite3
from pathlib import Path

import asyncpg
import pytest

from windlass.drivers.sql import migrate_postgres, migrate_sqlite
from windlass.drivers.sql.migrate import SCHEMA
from windlass.drivers.sql.migrate_postgres import RELEASE
from windlass.drivers.sql.migrate_postgres import TABLES as TABLES_OF_ALL
from windlass.drivers.sql.queries import load_migrations, load_queries
from windlass.model import (
    access,
    blackboard,
    bulk,
    dead_letters,
    effects,
    envs,
    ledger,
    limits,
    packages,
    patches,
    saved_views,
    tenants,
)
from windlass.model.rows import Row

NAMES = [
    "0001_core",
    "0002_link",
    "0003_releases",
    "0004_notes",
    "0005_effects",
    "0006_tenants",
    "0007_blobs",
    "0008_roles",
    "0009_limits",
    "0010_dead_letters",
    "0011_barriers",
    "0012_budgets",
    "0013_ledger",
    "0014_blackboard",
    "0015_envs",
    "0016_pods",
    "0017_quotas",
    "0018_pod_list",
    "0019_manifests",
    "0020_views_and_bulk",
    "0021_pod_records",
    "0022_changed_files",
    "0023_log_stream",
    "0024_room",
    "0025_filters",
]
WHERE_ROWS_ARE = (
    access,
    blackboard,
    bulk,
    dead_letters,
    effects,
    envs,
    ledger,
    limits,
    packages,
    patches,
    saved_views,
    tenants,
)
TABLES = [table for table in Row.__subclasses__() if hasattr(table, "TABLE")]


def test_the_newest_migration_is_the_schema_the_program_expects() -> None:
    numbers = [migration.number for migration in load_migrations("sqlite", {})]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == SCHEMA


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.TABLE))
def test_columns_stand_in_the_order_of_the_row_type(table: type[Row], tmp_path: Path) -> None:
    file = str(tmp_path / "schema.db")
    assert migrate_sqlite.migrate(file) == NAMES
    assert migrate_sqlite.migrate(file) == []
    db = sqlite3.connect(file)
    found = [row[1] for row in db.execute(f"pragma table_info({table.TABLE})")]
    db.close()
    assert tuple(found) == table.__struct_fields__


def test_lists_of_pods_walk_an_index_of_those_they_list(tmp_path: Path) -> None:
    """SQLite has no figures to go by: of two indexes that would do, it may take the longer."""
    file = str(tmp_path / "schema.db")
    migrate_sqlite.migrate(file)
    asked = dict.fromkeys(("tenant", "state", "namespace", "pattern", "before", "after"), "")
    db = sqlite3.connect(file)
    for name, index in (
        ("detached_attempts", "attempts_detached"),
        ("live_pods", "attempts_detached"),
        ("ended_pods", "attempts_ended_pods"),
    ):
        query = "explain query plan " + load_queries({})[name]
        steps = [row[3] for row in db.execute(query, asked | {"count_max": 50})]
        assert f"USING INDEX {index} (id" in steps[0], steps
        assert not [step for step in steps if step.startswith("SCAN") or "TEMP" in step], steps
    db.close()


@pytest.mark.anyio
async def test_postgres_has_the_same_columns_and_rows_travel_as_its_types(
    postgres_url: str,
) -> None:
    assert await migrate_postgres.migrate(postgres_url) == NAMES
    assert await migrate_postgres.migrate(postgres_url) == []
    db = await asyncpg.connect(postgres_url)
    for table in TABLES:
        for namespace in (TABLES_OF_ALL, RELEASE):
            rows = await db.fetch(
                "select column_name from information_schema.columns where table_name = $1"
                " and table_schema = $2 order by ordinal_position",
                table.TABLE,
                namespace,
            )
            assert tuple(row["column_name"] for row in rows) == table.__struct_fields__
    await db.close()
