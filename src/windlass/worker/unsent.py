"""Results that the server has not taken yet."""

import asyncio
from collections import deque
from collections.abc import Iterable

from windlass.protocol.exchange import Receipt, Result


class UnsentResults:
    """Finished results in order, until each has its receipt. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[Result] = deque()
        self._sent: dict[str, Result] = {}
        self.added = asyncio.Event()
        """Set while something waits to be sent."""
        self._settled = asyncio.Event()

    def __len__(self) -> int:
        """Everything without a receipt, sent or not."""
        return len(self._waiting) + len(self._sent)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, result: Result) -> None:
        self._waiting.append(result)
        self.added.set()

    def take(self, count_max: int) -> list[Result]:
        """The oldest results, to be sent now."""
        count = min(count_max, len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        self._sent.update((result.attempt_id, result) for result in batch)
        if not self._waiting:
            self.added.clear()
        return batch

    def receive(self, batch: Iterable[Result], receipts: Iterable[Receipt]) -> list[Result]:
        """Note the receipts of a batch; what got none goes out again. Those that are settled."""
        answered = {receipt.attempt_id for receipt in receipts}
        settled: list[Result] = []
        missing: list[Result] = []
        for result in batch:
            self._sent.pop(result.attempt_id, None)
            (settled if result.attempt_id in answered else missing).append(result)
        self._put_back(missing)
        self._note_settled()
        return settled

    def failed(self, batch: list[Result]) -> None:
        """The batch may not have arrived: send it again, before anything newer."""
        for result in batch:
            self._sent.pop(result.attempt_id, None)
        self._put_back(batch)

    def discard(self, result: Result) -> None:
        """Forget a result that was sent."""
        self._sent.pop(result.attempt_id, None)
        self._note_settled()

    async def empty(self) -> None:
        """Wait until everything has its receipt."""
        while len(self):
            self._settled.clear()
            await self._settled.wait()

    def _note_settled(self) -> None:
        if not len(self):
            self._settled.set()

    def _put_back(self, batch: list[Result]) -> None:
        self._waiting.extendleft(reversed(batch))
        if self._waiting:
            self.added.set()
