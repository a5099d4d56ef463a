"""Windows of the second generation: numbered frames, delivered once and in order.

Each direction numbers its frames from 1. The sender keeps a frame until its number is
acknowledged and lets only so many be open at once; the receiver hands frames out in order, keeps
those that came too early, and acknowledges what is *settled*: a result counts as received only
once it is committed, so a server that dies before that is asked again.
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

F = TypeVar("F")

WINDOW = 64


class Inbound(Generic[F]):
    """Frames on their way in."""

    def __init__(self, size: int = WINDOW) -> None:
        self.size = size
        self.base = 0
        """Every frame up to this number is settled: what an acknowledgement says."""
        self.delivered = 0
        """Every frame up to this number was handed out."""
        self._early: dict[int, F] = {}
        self._settled: set[int] = set()

    def receive(self, seq: int, frame: F) -> list[tuple[int, F]]:
        """The frames that may be handled now; none if this one is early, old or out of bounds."""
        if seq <= self.delivered or seq in self._early or seq > self.delivered + self.size:
            return []
        self._early[seq] = frame
        ready: list[tuple[int, F]] = []
        while self.delivered + 1 in self._early:
            self.delivered += 1
            ready.append((self.delivered, self._early.pop(self.delivered)))
        return ready

    def settle(self, seq: int) -> None:
        """A frame that was handed out has had its effect; saying so twice changes nothing."""
        if seq <= self.base:
            return
        self._settled.add(seq)
        while self.base + 1 in self._settled:
            self.base += 1
            self._settled.discard(self.base)

    @property
    def bitmap(self) -> int:
        """What is settled beyond `base`: bit i stands for base + 1 + i."""
        bits = 0
        for seq in self._settled:
            if seq > self.base:
                bits |= 1 << (seq - self.base - 1)
        return bits


class Outbound(Generic[F]):
    """Frames on their way out: numbered when they enter the window, kept until acknowledged."""

    def __init__(self, size: int = WINDOW) -> None:
        self.size = size
        self.next = 1
        self.open: dict[int, F] = {}
        self.waiting: deque[F] = deque()

    def add(self, frame: F) -> None:
        self.waiting.append(frame)

    def admit(self) -> Iterable[tuple[int, F]]:
        """Number the frames that fit into the window now."""
        while self.waiting and len(self.open) < self.size and self._spread < self.size:
            seq, frame = self.next, self.waiting.popleft()
            self.next += 1
            self.open[seq] = frame
            yield seq, frame

    @property
    def _spread(self) -> int:
        """How far the newest number is ahead of the oldest open one."""
        return self.next - next(iter(self.open)) if self.open else 0

    def acknowledge(self, base: int | None, bitmap: int | None) -> list[F]:
        """Frames that arrived, by an acknowledgement."""
        base = base or 0
        done = [seq for seq in self.open if seq <= base]
        if bitmap:
            done += [s for s in self.open if s > base and bitmap >> (s - base - 1) & 1]
        return [self.open.pop(seq) for seq in done]
