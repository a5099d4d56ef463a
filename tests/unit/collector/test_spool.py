"""The spool: written, published, marked, and what is still there after a restart."""

from pathlib import Path

import pytest

from windlass.collector.spool import Batch, Spool, SpooledEvent
from windlass.model.errors import BadRequest


def event(number: int, pod: str = "u1", tenant: str = "a") -> SpooledEvent:
    return SpooledEvent(f"e{number}", pod, tenant, 1.0, b"{}")


def with_pod(*events: SpooledEvent, uid: str = "u1") -> Batch:
    return Batch(pods={uid: (b"pod", "RUNNING")}, events=list(events))


def ids(spool: Spool) -> list[str]:
    return [found.id for found in spool.oldest(100)]


def test_what_is_written_is_there_after_a_restart_and_what_is_marked_is_not(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s.db")
    spool.write(with_pod(event(1), event(2), event(3)))
    spool.mark(spool.oldest(2))
    spool.close()
    again = Spool(tmp_path / "s.db")
    assert ids(again) == ["e3"]
    assert again.pending_of == {"a": 1}
    assert list(again.known()) == [("u1", "RUNNING", "e3")]


def test_an_event_is_taken_once_also_after_it_was_published_and_after_a_restart(
    tmp_path: Path,
) -> None:
    spool = Spool(tmp_path / "s.db")
    assert len(spool.write(with_pod(event(1)))) == 1
    assert spool.write(with_pod(event(1))) == []
    spool.mark(spool.oldest(1))
    assert spool.write(with_pod(event(1))) == []
    spool.close()
    again = Spool(tmp_path / "s.db")
    assert again.write(with_pod(event(1))) == []
    assert again.pending == 0


def test_what_is_known_of_a_pod_goes_with_it_but_not_what_is_unsaid() -> None:
    spool = Spool(":memory:")
    spool.write(with_pod(event(1), event(2)))
    spool.mark(spool.oldest(1))
    spool.write(Batch(gone=["u1"]))
    assert ids(spool) == ["e2"]
    assert list(spool.known()) == []
    spool.mark(spool.oldest(1))
    count = spool._db.execute("select count(*) from event").fetchone()
    assert count == (0,)


def test_the_oldest_go_first_and_the_bound_is_told() -> None:
    spool = Spool(":memory:", pending_max=3)
    spool.write(with_pod(event(2), event(1)))
    assert (ids(spool), spool.is_full()) == (["e2", "e1"], False)
    spool.write(with_pod(event(3)))
    assert spool.is_full()
    spool.mark(spool.oldest(1))
    assert not spool.is_full()


def test_two_collectors_do_not_share_a_file(tmp_path: Path) -> None:
    first = Spool(tmp_path / "s.db")
    first.write(with_pod(event(1)))
    with pytest.raises(BadRequest, match="a writable file of its own with --spool"):
        Spool(tmp_path / "s.db")
    first.close()


def test_a_place_nobody_can_write_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadRequest, match=r"cannot use the spool .*file/s\.db"):
        Spool(tmp_path / "file" / "s.db")
