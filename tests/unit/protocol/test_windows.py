"""Numbered frames: once, in order, and no more of them open than the window holds."""

from windlass.protocol.link.windows import Inbound, Outbound


def test_frames_that_come_too_early_wait_for_the_ones_before() -> None:
    inbound: Inbound[str] = Inbound()
    assert inbound.receive(2, "b") == []
    assert inbound.receive(1, "a") == [(1, "a"), (2, "b")]
    assert inbound.receive(2, "b") == []


def test_only_what_is_settled_is_acknowledged() -> None:
    inbound: Inbound[str] = Inbound()
    for seq in (1, 2, 3):
        inbound.receive(seq, "x")
    inbound.settle(2)
    inbound.settle(3)
    assert (inbound.base, inbound.bitmap) == (0, 0b110)
    inbound.settle(1)
    assert (inbound.base, inbound.bitmap) == (3, 0)


def test_what_is_settled_twice_leaves_nothing_behind() -> None:
    inbound: Inbound[str] = Inbound()
    inbound.receive(1, "x")
    inbound.settle(1)
    inbound.settle(1)
    assert (inbound.base, inbound._settled) == (1, set())


def test_a_frame_beyond_the_window_is_not_taken() -> None:
    inbound: Inbound[str] = Inbound(4)
    assert inbound.receive(5, "far") == []
    assert inbound.receive(1, "a") == [(1, "a")]


def test_no_more_frames_are_open_than_the_window_holds() -> None:
    outbound: Outbound[str] = Outbound(2)
    for name in "abc":
        outbound.add(name)
    assert list(outbound.admit()) == [(1, "a"), (2, "b")]
    # The second arrived, but its number is still within the window of the first.
    assert outbound.acknowledge(0, 0b10) == ["b"]
    assert list(outbound.admit()) == []
    assert outbound.acknowledge(1, None) == ["a"]
    assert list(outbound.admit()) == [(3, "c")]
