"""What every place for blobs promises, on each of them: two processes, one place."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from windlass.drivers.blobs.files import FileBlobs
from windlass.drivers.blobs.postgres import PostgresBlobs
from windlass.drivers.sql import migrate_postgres
from windlass.drivers.store.postgres import PostgresStore
from windlass.model.errors import BadRequest, NotFound
from windlass.ports.blobs import Blobs

pytestmark = pytest.mark.anyio
KEY = "packages/demo/1.0.0-abc.cwx"
LARGE = b"0123456789abcdef" * 200_000
"""More than one piece, and not a whole number of them."""


@pytest.fixture(params=["files", "postgres"])
async def two(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Blobs, Blobs]]:
    """The same place as two processes have it; of a database, on two machines."""
    if request.param == "files":
        yield FileBlobs(tmp_path), FileBlobs(tmp_path)
        return
    url: str = request.getfixturevalue("postgres_url")
    await migrate_postgres.migrate(url)
    stores = [await PostgresStore.open(url, pool_size=2) for _ in range(2)]
    here, there = (
        PostgresBlobs(store.connection, tmp_path / name)
        for store, name in zip(stores, ("here", "there"), strict=True)
    )
    yield here, there
    for store in stores:
        await store.close()


async def keep(blobs: Blobs, key: str, content: bytes) -> None:
    scratch = blobs.scratch("gathered")
    scratch.write_bytes(content)
    await blobs.keep(key, scratch)


async def read(blobs: Blobs, key: str) -> bytes:
    return (await blobs.path(key)).read_bytes()


@pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "small", "large"])
async def test_what_one_keeps_the_other_reads(two: tuple[Blobs, Blobs], content: bytes) -> None:
    here, there = two
    await keep(here, KEY, content)
    assert await read(there, KEY) == content
    assert await read(there, KEY) == content
    assert await read(here, KEY) == content


async def test_a_key_kept_anew_has_the_new_content_for_all(two: tuple[Blobs, Blobs]) -> None:
    here, there = two
    await keep(here, KEY, b"old")
    assert await read(there, KEY) == b"old"
    await keep(here, KEY, b"new")
    assert await read(there, KEY) == b"new"


async def test_a_key_kept_by_many_at_once_is_kept(two: tuple[Blobs, Blobs]) -> None:
    async def keep_one(number: int) -> None:
        blobs = two[number % 2]
        scratch = blobs.scratch(f"gathered-{number}")
        scratch.write_bytes(LARGE)
        await blobs.keep(KEY, scratch)

    await asyncio.gather(*map(keep_one, range(12)))
    for blobs in two:
        assert await read(blobs, KEY) == LARGE


async def test_what_is_removed_is_gone_for_all(two: tuple[Blobs, Blobs]) -> None:
    here, there = two
    await keep(here, KEY, LARGE)
    await keep(here, "other", b"stays")
    assert await read(there, KEY) == LARGE
    await there.remove(KEY)
    await there.remove(KEY)
    for blobs in two:
        with pytest.raises(NotFound):
            await blobs.path(KEY)
        assert await blobs.present([KEY, "other", "none"]) == {"other"}


async def test_a_key_is_never_a_way_out(two: tuple[Blobs, Blobs]) -> None:
    for key in ("../x", "a//b", "a/../../b", "", "a\0b", "a\\b"):
        with pytest.raises(BadRequest):
            await keep(two[0], key, b"x")
        with pytest.raises(BadRequest):
            await two[0].path(key)


async def test_what_was_kept_in_files_is_found_from_a_database(
    postgres_url: str, tmp_path: Path
) -> None:
    await keep(FileBlobs(tmp_path), KEY, b"from before")
    await migrate_postgres.migrate(postgres_url)
    store = await PostgresStore.open(postgres_url, pool_size=1)
    blobs = PostgresBlobs(store.connection, tmp_path)
    assert await read(blobs, KEY) == b"from before"
    await blobs.remove(KEY)
    assert await blobs.present([KEY]) == set()
    await store.close()


async def test_copies_that_nobody_used_of_late_make_room(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate_postgres.migrate(postgres_url)
    store = await PostgresStore.open(postgres_url, pool_size=1)
    monkeypatch.setattr("windlass.drivers.blobs.postgres._COPY_S", 0.0)
    blobs = PostgresBlobs(store.connection, tmp_path, copies_bytes=2_500)
    for number in range(5):
        await keep(blobs, f"k{number}", bytes([number]) * 1_000)
        assert await read(blobs, f"k{number}") == bytes([number]) * 1_000
    assert len(list((tmp_path / "copies").iterdir())) == 2
    assert await read(blobs, "k0") == b"\0" * 1_000
    await store.close()
