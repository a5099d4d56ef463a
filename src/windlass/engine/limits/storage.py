"""The quota of storage: files are taken in only while they fit.

What is in use is counted anew from the files themselves whenever one comes, so nothing has to be
given back when one goes. The key's row is what makes two that come at the same moment take turns.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.jobs import Outdated
from windlass.engine.limits.gate import blank
from windlass.model.errors import Conflict, Unavailable
from windlass.model.limits import LimitUse, limit_id
from windlass.model.quotas import STORAGE, mebibytes, quota_key, shown
from windlass.model.rows import Resource, Row

_TRIES = 20


async def keep_file(engine: Engine, row: Resource, *along: Row) -> None:
    """Enter a file if its tenant has room for it; Conflict if not."""
    rule = (await engine.rules()).rule(row.tenant, quota_key(STORAGE))
    if rule is None or rule.max is None:
        await engine.write(row, *along)
        return
    key = limit_id(row.tenant, quota_key(STORAGE))
    async with engine.change_locks.of((LimitUse, key)):
        await _count_in(engine, row, rule.max, key, along)


async def _count_in(
    engine: Engine, row: Resource, most: int, key: str, along: Sequence[Row]
) -> None:
    for _ in range(_TRIES):
        async with engine.system.store.session() as session:
            found = await session.rows(LimitUse, [key])
        if not found:
            await engine.write(blank(key))
            continue
        used = await used_bytes(engine, row.tenant)
        use = _with(found[0], used, row, most)
        try:
            await engine.write(row, *along, changed=(use,), stands=(found[0],))
            return
        except Outdated:
            continue
    raise Unavailable(f"{quota_key(STORAGE)} of tenant {row.tenant} changes too often")


def _with(use: LimitUse, used: int, row: Resource, most: int) -> LimitUse:
    total = mebibytes(used + row.size_bytes)
    if total > most:
        has, takes = shown(STORAGE, mebibytes(used)), shown(STORAGE, mebibytes(row.size_bytes))
        raise Conflict(
            f"quota of tenant {row.tenant}: {has} of {shown(STORAGE, most)} storage in use, and the"
            f" file takes {takes}; delete files, or raise {quota_key(STORAGE)}"
        )
    return replace(use, in_use=total, max=most, used_at=max(row.created_at, use.used_at + 1))


async def used_bytes(engine: Engine, tenant: str) -> int:
    """What a tenant's files take, with those that are still to come."""
    rows = await engine.system.store.query("used_bytes", tenant=tenant, now=engine.store.now())
    return int(rows[0]["bytes"] or 0)
