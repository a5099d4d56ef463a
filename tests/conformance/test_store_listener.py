"""PostgreSQL alone: a process announces what it commits only while there is somebody to hear it."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable

import asyncpg
import pytest

from tests.conformance.rows import a_run
from windlass.drivers.sql import listener as listening
from windlass.drivers.sql import migrate_postgres
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.rows import Run
from windlass.ports.store import Writes

pytestmark = pytest.mark.anyio
Open = Callable[[], Awaitable[PostgresStore]]


@pytest.fixture
async def open_one(postgres_url: str, anyio_backend: object) -> AsyncGenerator[Open, None]:
    opened: list[PostgresStore] = []
    await migrate_postgres.migrate(postgres_url)

    async def one() -> PostgresStore:
        opened.append(await PostgresStore.open(postgres_url))
        return opened[-1]

    yield one
    for store in opened:
        await store.close()


def announces(store: PostgresStore) -> bool:
    with store.listener.announced(["mail"]) as notices:
        return bool(notices)


async def commit(store: PostgresStore) -> str:
    row = a_run(str(uuid.uuid4()))
    async with store.session() as session:
        await session.save(Writes(made={Run: {row.id: row}}, notices=[f"runs {row.id}"]))
    return f"runs {row.id}"


async def test_who_has_not_looked_announces_and_who_is_alone_does_not(open_one: Open) -> None:
    store = await open_one()
    assert announces(store), "nobody is alone before having looked"
    assert await store.notices() == []
    assert not announces(store)


async def test_who_comes_is_heard_at_once_and_hears_everything(open_one: Open) -> None:
    one = await open_one()
    await one.notices()
    hearing = asyncio.ensure_future(one.notices())
    two = await open_one()
    async with asyncio.timeout(2):
        assert await two.notices() == [], "listening has begun"
        assert await two.notices() == [], "somebody is here: what came before was not announced"
        said = await commit(one)
        assert await two.notices() == [said]
        said = await commit(two)
        assert await hearing == [said]


async def test_who_comes_while_a_silent_commit_is_under_way_looks_after_it(open_one: Open) -> None:
    one = await open_one()
    await one.notices()
    with one.listener.announced(["mail"]) as notices:
        assert notices == []
        two = await open_one()
        await two.notices()
        hearing = asyncio.ensure_future(two.notices())
        await asyncio.sleep(0.3)
        assert not hearing.done(), "what this commit makes would be missed"
        assert announces(one), "the next commit announces"
    async with asyncio.timeout(2):
        assert await hearing == []


async def test_who_says_no_hello_is_found_and_forgotten_when_gone(
    open_one: Open, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_LOOK_S", 0.1)
    one = await open_one()
    await one.notices()
    of_an_older_release = await asyncpg.connect(postgres_url)
    await of_an_older_release.add_listener("windlass", lambda *_: None)

    async def look() -> None:
        await asyncio.sleep(0.15)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await one.notices()

    await look()
    assert announces(one)
    await of_an_older_release.close()
    async with asyncio.timeout(10):
        while announces(one):  # the server takes its time to see that it is gone
            await look()
