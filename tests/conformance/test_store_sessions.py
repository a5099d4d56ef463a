"""PostgreSQL alone: sessions have a connection of their own, and outlive what becomes of it."""

import asyncio

import asyncpg
import pytest

from tests.conformance.rows import a_run, all_rows, change, make
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.rows import Run
from windlass.ports.store import Raced
from windlass.testing.servers import PostgresServer
from windlass.wiring.stores import migrate

pytestmark = pytest.mark.anyio

_OTHERS = (
    "application_name = 'windlass' and datname = current_database() and pid <> pg_backend_pid()"
)


@pytest.fixture
async def url(postgres_server: PostgresServer) -> str:
    url = postgres_server.new_database()
    await migrate(url)
    return url


async def cut(url: str) -> None:
    """End every connection, as a restart of the server or of a proxy does."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        f"select pg_terminate_backend(pid) from pg_stat_activity where {_OTHERS}"
    )
    await connection.close()
    await asyncio.sleep(0.2)


async def test_the_session_after_a_cut_is_served_by_another_connection(url: str) -> None:
    store = await PostgresStore.open(url)
    await make(store, a_run())
    await cut(url)
    await change(store, a_run(seq=1))
    await cut(url)
    assert await all_rows(store, Run) == [a_run(seq=1)]
    await change(store, a_run(seq=2), seq=1)
    await store.close()


async def test_a_race_leaves_the_connection_as_it_was(url: str) -> None:
    store = await PostgresStore.open(url)
    await make(store, a_run())
    async with store.session() as session:
        await session.lock_runs([a_run().id])
    with pytest.raises(Raced):
        await change(store, a_run(seq=7), seq=6)

    async def lock_and_go() -> None:
        async with store.session() as session:
            await session.lock_runs([a_run().id])
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await lock_and_go()
    async with asyncio.timeout(5):
        await change(store, a_run(seq=1))
    await store.close()


async def test_sessions_side_by_side_do_not_get_in_each_other_s_way(url: str) -> None:
    store = await PostgresStore.open(url, pool_size=2)
    await make(store, a_run())
    async with asyncio.timeout(5):
        async with store.session() as one, store.session() as two:
            await one.lock_runs([a_run().id])
            assert await two.rows(Run, [a_run().id]) == [a_run()]
            assert await store.count(Run) == 1
        await asyncio.gather(*(all_rows(store, Run) for _ in range(6)))
    await store.close()


async def test_a_store_closes_while_a_session_is_open(url: str) -> None:
    store = await PostgresStore.open(url)
    began = asyncio.Event()

    async def stay() -> None:
        async with store.session() as session:
            await session.rows(Run, ["r"])
            began.set()
            await asyncio.sleep(0.3)

    staying = asyncio.ensure_future(stay())
    await began.wait()
    async with asyncio.timeout(5):
        await store.close()
    await asyncio.gather(staying, return_exceptions=True)
