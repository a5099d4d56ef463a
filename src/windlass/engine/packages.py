"""Packages: what the repository has, by name and version."""

from windlass.engine.engine import Engine
from windlass.model.rows import PackageVersion


def version_id(name: str, version: str) -> str:
    return f"{name}@{version}"


async def find_version(engine: Engine, name: str, version: str) -> PackageVersion | None:
    async with engine.store.session() as session:
        rows = await session.rows(PackageVersion, [version_id(name, version)])
    return rows[0] if rows else None
