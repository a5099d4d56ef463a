"""Results leave only against a receipt."""

import pytest

from windlass.protocol.exchange import Receipt, Result
from windlass.worker.unsent import UnsentResults

pytestmark = pytest.mark.anyio


def result(name: str) -> Result:
    return Result(attempt_id=name, token="t")


def names(batch: list[Result]) -> list[str]:
    return [item.attempt_id for item in batch]


async def test_a_batch_that_failed_goes_out_again_before_anything_newer() -> None:
    unsent = UnsentResults()
    for name in "abc":
        unsent.add(result(name))
    batch = unsent.take(2)
    unsent.add(result("d"))
    unsent.failed(batch)
    assert names(unsent.take(10)) == ["a", "b", "c", "d"]
    assert not unsent.added.is_set()


async def test_what_got_no_receipt_goes_out_again() -> None:
    unsent = UnsentResults()
    for name in "abc":
        unsent.add(result(name))
    batch = unsent.take(10)
    settled = unsent.receive(batch, [Receipt(attempt_id="b", status="accepted")])
    assert names(settled) == ["b"]
    assert len(unsent) == 2
    assert names(unsent.take(10)) == ["a", "c"]


async def test_it_is_empty_when_everything_has_its_receipt() -> None:
    unsent = UnsentResults()
    await unsent.empty()
    unsent.add(result("a"))
    batch = unsent.take(1)
    assert len(unsent) == 1
    unsent.receive(batch, [Receipt(attempt_id="a", status="stale")])
    await unsent.empty()
