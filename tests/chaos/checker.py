"""Reads the store and the effects after the storm and says what does not add up."""

import asyncio
from collections import Counter
from typing import Any

import asyncpg


def check_store(
    url: str, acknowledged: list[str], effects: Counter[str], effects_a_run: int
) -> dict[str, Any]:
    """Problems found, and figures for the report."""
    return asyncio.run(_check(url, acknowledged, effects, effects_a_run))


async def _check(
    url: str, acknowledged: list[str], effects: Counter[str], effects_a_run: int
) -> dict[str, Any]:
    db: Any = await asyncpg.connect(url)
    try:
        problems: list[str] = []
        states = {r["id"]: r["state"] for r in await db.fetch("select id, state from runs")}
        problems += [f"acknowledged run {i} is lost" for i in acknowledged if i not in states]
        problems += [f"run {i} is {s}" for i, s in states.items() if s != "succeeded"]
        problems += await _twice(db)
        problems += await _leftovers(db)
        done = await db.fetch("select id from tasks where kind = 'call' and state = 'succeeded'")
        tasks = {row["id"] for row in done}
        problems += [f"task {task} succeeded without an effect" for task in tasks - seen(effects)]
        if len(tasks) != len(states) * effects_a_run:
            problems.append(f"{len(tasks)} calls for {len(states)} runs of {effects_a_run}")
        attempts = await db.fetch("select state, count(*) as n from attempts group by state")
        total = sum(effects.values())
        return {
            "problems": problems[:50],
            "runs": len(states),
            "tasks": len(tasks),
            "attempts": {row["state"]: row["n"] for row in attempts},
            "effects": total,
            "effects_repeated": total - len(effects),
        }
    finally:
        await db.close()


def seen(effects: Counter[str]) -> set[str]:
    """Tasks that left a trace; a push handler knows its attempt, a pull handler its task."""
    return {name.partition("@")[0] for name in effects}


async def _twice(db: Any) -> list[str]:
    rows = await db.fetch(
        "select task_id, count(*) as n from attempts where state = 'succeeded'"
        " group by task_id having count(*) > 1"
    )
    return [f"task {row['task_id']} was accepted {row['n']} times" for row in rows]


async def _leftovers(db: Any) -> list[str]:
    """Nothing may be left behind by runs that have ended."""
    checks = {
        "live attempts": "select count(*) from attempts where state in ('claimed', 'running')",
        "timers": "select count(*) from timers",
        "open tasks": "select count(*) from tasks where state in"
        " ('pending', 'queued', 'running', 'verifying', 'waiting')",
        "open counters": "select count(*) from runs where open <> 0 or active <> 0",
        "gaps in events": "select count(*) from runs r where r.seq <>"
        " (select count(*) from events e where e.run_id = r.id)",
    }
    return [f"{n} {what}" for what, sql in checks.items() if (n := await db.fetchval(sql))]
