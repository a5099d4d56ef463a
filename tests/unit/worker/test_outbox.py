"""Results leave only against a receipt."""

import pytest

from windlass.protocol.exchange import Receipt, Result
from windlass.worker.outbox import Outbox

pytestmark = pytest.mark.anyio


def result(name: str) -> Result:
    return Result(attempt_id=name, token="t")


def names(batch: list[Result]) -> list[str]:
    return [item.attempt_id for item in batch]


async def test_a_batch_that_failed_goes_out_again_before_anything_newer() -> None:
    outbox = Outbox()
    for name in "abc":
        outbox.add(result(name))
    batch = outbox.take(2)
    outbox.add(result("d"))
    outbox.failed(batch)
    assert names(outbox.take(10)) == ["a", "b", "c", "d"]
    assert not outbox.added.is_set()


async def test_what_got_no_receipt_goes_out_again() -> None:
    outbox = Outbox()
    for name in "abc":
        outbox.add(result(name))
    batch = outbox.take(10)
    settled = outbox.receive(batch, [Receipt(attempt_id="b", status="accepted")])
    assert names(settled) == ["b"]
    assert len(outbox) == 2
    assert names(outbox.take(10)) == ["a", "c"]


async def test_it_is_empty_when_everything_has_its_receipt() -> None:
    outbox = Outbox()
    await outbox.empty()
    outbox.add(result("a"))
    batch = outbox.take(1)
    assert len(outbox) == 1
    outbox.receive(batch, [Receipt(attempt_id="a", status="stale")])
    await outbox.empty()
