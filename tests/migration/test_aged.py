"""The database that the benchmark calls aged is of the schema there is."""

from pathlib import Path
from typing import cast

import pytest

from windlass.model.rows import Run
from windlass.testing.bench.aged import age
from windlass.wiring.options import ServerOptions
from windlass.wiring.stores import migrate
from windlass.wiring.system import running

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'aged.db'}"
    return cast(str, request.getfixturevalue("postgres_url"))


async def test_an_aged_database_is_read_like_any_other(db: str) -> None:
    await migrate(db)
    await age(db, 7)
    async with running(ServerOptions(db=db, no_auth=True)) as system:
        rows = await system.engine.store.page(Run, [], limit=10)
        assert [str(row.state) for row in rows] == ["succeeded"] * 7
        async with system.engine.store.session() as session:
            tasks = await session.run_tasks(rows[0].id)
        assert [task.step for task in tasks] == [1, 2, 3]
