"""Uploads nobody finished and files whose time is over are removed, and only those."""

from pathlib import Path

import pytest

from windlass.drivers.blobs.files import FileBlobs
from windlass.engine import resources
from windlass.engine.engine import Engine
from windlass.engine.loops.expiry import Expiry
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.rows import Resource
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def put(blobs: FileBlobs, key: str, content: bytes) -> None:
    scratch = blobs.scratch("part")
    scratch.write_bytes(content)
    await blobs.keep(key, scratch)


async def upload(engine: Engine, size: int = 5, chunk: int = 2, digest: str = "") -> Resource:
    file = resources.Upload(filename="f", size_bytes=size, chunk_bytes=chunk, sha256=digest)
    return await resources.begin(engine, file, owner="me", bytes_max=100)


async def test_what_has_expired_goes_and_the_rest_stays(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    async with local_engine({}) as local:
        engine = local.engine
        now = engine.store.now
        late = await upload(engine)
        await put(blobs, resources.part_key(late.id, 0), b"ab")
        file = resources.Upload(filename="kept", size_bytes=1)
        kept = await resources.add(engine, file, owner="me", resource_id="kept")
        await put(blobs, resources.blob_key(kept.id), b"x")
        expiry = Expiry(engine, blobs)
        assert await expiry.run_once() == 0
        day_ms = resources.UPLOAD_S * 1000
        engine.store.now = lambda: now() + day_ms + 1  # type: ignore[method-assign]
        with pytest.raises(NotFound):
            await resources.get(engine, late.id)  # gone on access, even before the sweep
        assert await expiry.run_once() == 1
        assert await expiry.run_once() == 0
        assert await resources.received(blobs, late) == []
        assert (await blobs.path(resources.blob_key(kept.id))).read_bytes() == b"x"


async def test_parts_make_a_file_only_when_all_are_there_and_right(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    async with local_engine({}) as local:
        row = await upload(local.engine)
        assert [resources.part_bytes(row, n) for n in range(3)] == [2, 2, 1]
        for number, content in ((2, b"e"), (0, b"ab")):
            await put(blobs, resources.part_key(row.id, number), content)
        assert await resources.received(blobs, row) == [0, 2]
        with pytest.raises(Conflict, match="part 1 of 3"):
            await resources.assemble(blobs, row, "")
        await put(blobs, resources.part_key(row.id, 1), b"cd")
        with pytest.raises(Conflict, match="sha256"):
            await resources.assemble(blobs, row, "0" * 64)
        with pytest.raises(NotFound):
            await blobs.path(resources.blob_key(row.id))
        digest = await resources.assemble(blobs, row, "")
        assert (await blobs.path(resources.blob_key(row.id))).read_bytes() == b"abcde"
        assert (await resources.completed(local.engine, row, digest)).state == "complete"


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "dir/"])
def test_a_filename_is_short_printable_and_no_path(name: str) -> None:
    with pytest.raises(BadRequest):
        resources.check_filename(name)
    assert resources.check_filename("C:\\temp\\../etc/passwd") == "passwd"
