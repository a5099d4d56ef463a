"""Filters of runs find the same by index as by looking at every run, and do go by index."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.conformance.rows import a_run, make
from windlass.drivers.sql import migrate_postgres, migrate_sqlite, statements
from windlass.drivers.sql.walks import BYTEWISE
from windlass.engine.filters import found_by, run_conditions
from windlass.model.rows import Run
from windlass.model.states import RunState
from windlass.ports.store import Cond, Store, Writes
from windlass.testing.bench.aged import age
from windlass.testing.memory.queries import meets

pytestmark = pytest.mark.anyio

LONG = "x" * 300
FLOWS = ("review", "review-a", "review-b", "Review", "rev", "revue", "é", "rev_x", "revzx", "")
TAGS: tuple[dict[str, str], ...] = (
    {},
    {"env": "prod"},
    {"env": "pro", "team": "a"},
    {"env": "production", "team": "a b"},
    {"env=x": "prod", 'q"': 'a"b'},
    {"environment": "prod", "long": LONG},
    {"long": LONG + "y", "é": "ü%_"},
)
FILTERS = (
    *("flow:review", "flow:review*", "flow:rev_*", "flow:*view", "flow:é*", "rev", "nothing"),
    *("flow:nothing*", "review-*b", "version:v1", "version:v9", "error:boom", "error:nothing"),
    *("tag:env=prod", "tag:env=pro*", "tag:env", "tag:env=*d", 'tag:"q\\""', "tag:é=ü%_"),
    *(f"tag:long={LONG}", f"tag:long={LONG}*", "tag:env=nothing", "tag:nothing", "tag:env=x=prod"),
    *("tag:env=prod flow:rev*", "tag:env team", "tag:env tag:team=a", "flow:rev* status:failed"),
    *("version:v1 tag:env status:running,failed", "flow:review error:boom -status:running"),
)


def runs() -> list[Run]:
    made: list[Run] = []
    for number in range(140):
        failed = number % 3 == 0
        made.append(
            a_run(
                f"0190a0a0-0000-7000-8000-{number * 7919 % 1000:012d}",
                flow_name=FLOWS[number % len(FLOWS)],
                version_id=f"v{number % 4}",
                state=RunState.FAILED if failed else RunState.RUNNING,
                error='{"message":"boom"}' if failed and number % 2 else None,
                tags=json.dumps(
                    TAGS[number % len(TAGS)], separators=(",", ":"), ensure_ascii=False
                ),
                created_at=number,
                finished_at=number if failed else None,
            )
        )
    return made


@pytest.mark.parametrize("descending", [True, False])
async def test_a_filter_finds_what_looking_at_every_run_finds(
    store: Store, descending: bool
) -> None:
    every = runs()
    await make(store, *every)
    for text in FILTERS:
        where = run_conditions(text, store.now())
        wanted = [run.id for run in every if meets(run, where)]
        wanted.sort(reverse=descending)
        found: list[str] = []
        while len(found) < len(wanted) + 1:
            beyond = [Cond("id", "<" if descending else ">", found[-1])] if found else []
            by = [*await found_by(store, text), *beyond]
            page = await store.page(Run, by, descending=descending, limit=7)
            found += [run.id for run in page]
            if not page:
                break
        assert found == wanted, text
        assert await store.count(Run, await found_by(store, text)) == len(wanted), text


async def test_what_was_deleted_has_no_tags_any_more(store: Store) -> None:
    run = a_run(tags='{"env":"prod"}')
    await make(store, run)
    low, high = "env=", "env>"
    asked: dict[str, Any] = {"low": low, "high": high, "count_max": 9}
    assert await store.query("tags_between", **asked) == [{"name": "env=prod"}]
    async with store.session() as session:
        await session.save(Writes(removed={Run: {run.id}}))
    assert await store.query("tags_between", **asked) == []


MINE = Cond("tenant", "=", "default")
EVERY = Cond("state", "in", [*map(str, RunState)])
BY_INDEX = (
    ([Cond("version_id", "=", "v1")], "runs_of_version"),
    ([Cond("flow_name", "=", "x")], "runs_by_flow"),
    ([Cond("flow_name", "in", ["x", "xy"]), Cond("flow_name", "like", "x%")], "runs_by_flow"),
    ([Cond("error", "not null"), Cond("error", "like", "%boom%")], "runs_with_error"),
    ([Cond("tags", "tagged", ["a=b"]), Cond("tags", "like", "%a%")], "run_tags"),
)
"""A filter's conditions, and what its list goes along."""


def listing(where: Sequence[Cond], mark: Any, bytewise: str) -> tuple[str, list[Any]]:
    values: list[Any] = []

    def parameter(value: Any) -> str:
        values.append(json.dumps(value) if isinstance(value, list) and not bytewise else value)
        return str(mark(len(values)))

    def any_of(column: str, value: Any) -> str:
        if bytewise:
            return f"{column} = any({parameter(list(value))}::text[])"
        return f"{column} in (select value from json_each({parameter(list(value))}))"

    tail = ("id", True, 51, 0)
    every = [*where, Cond("id", "<", "1"), MINE, EVERY]
    return statements.listing(Run, every, tail, parameter, any_of, bytewise=bytewise), values


@pytest.mark.parametrize(("where", "index"), BY_INDEX, ids=lambda one: str(one)[:30])
def test_sqlite_goes_by_the_index_of_what_is_looked_for(
    where: Sequence[Cond], index: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "w.db")
    migrate_sqlite.migrate(file)
    sql, values = listing(where, lambda _: "?", "")
    db = sqlite3.connect(file)
    steps = [str(row[3]) for row in db.execute(f"explain query plan {sql}", values)]
    db.close()
    walks = [step for step in steps if "runs" in step or "run_tags" in step]
    assert any(index in step for step in walks), steps
    assert not [s for s in walks if s == "SCAN runs" or "runs_by_tenant" in s], steps


async def test_postgres_goes_by_the_index_of_what_is_looked_for(postgres_url: str) -> None:
    await migrate_postgres.migrate(postgres_url)
    await age(postgres_url, 20_000)
    db = await asyncpg.connect(postgres_url)
    await db.execute(f"set search_path to {migrate_postgres.RELEASE}")
    await db.execute("analyze")
    for where, index in BY_INDEX:
        sql, values = listing(where, lambda number: f"${number}", BYTEWISE)
        rows = await db.fetch(f"explain {sql}", *values)
        plan = "\n".join(row[0] for row in rows)
        assert index in plan, plan
        assert "Seq Scan on runs" not in plan, plan
    await db.close()
