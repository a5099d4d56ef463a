"""The attempts a worker holds, and how long it may rely on holding them.

The server counts a lease from when it granted or renewed it. The worker cannot see that moment, so
it counts from when it *asked*, and only to 80 % of the term: whatever the network did, it stops
before anybody else can start.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from windlass.protocol.exchange import SAID_MAX, Said
from windlass.worker.context import Context, Stop
from windlass.worker.records import TOGETHER_S, marks_of, together

TRUSTED_SHARE = 0.8


@dataclass(slots=True)
class Lease:
    context: Context
    lease_s: float
    token: str | int = ""


def all_unsaid(held: Sequence[tuple[Context, str | int]]) -> list[Said]:
    """What attempts have logged that the server does not have yet, for one exchange. Where many
    talk at once, each has one piece: what waits for the next exchange has a worse time still."""
    pieces = [said for context, token in held for said in unsaid(context, token)]
    if len(pieces) > SAID_MAX:
        pieces = [said for context, token in held for said in unsaid(context, token, math.inf)]
    return pieces[:SAID_MAX]


def unsaid(context: Context, token: str | int, within_s: float = TOGETHER_S) -> list[Said]:
    """The part of an attempt's log that the server does not have, in pieces of what was logged at
    about the same time."""
    text, offset, pieces = context.log_text, context.told, list[Said]()
    for records in together(context.records(offset), within_s):
        end = min(records[-1].end, len(text))
        if end > offset:
            piece = Said(
                attempt_id=context.attempt_id,
                token=token,
                offset=offset,
                text=text[offset:end],
                age_ms=context.age_ms(records[0]),
                marks=marks_of(records, offset),
            )
            pieces.append(piece)
            offset = end
    return pieces


class Leases:
    """All held attempts; used by the exchange loop and by the renewer's thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, Lease] = {}
        self.on_log: Callable[[], object] = lambda: None
        """Called whenever a held attempt logs something, from whichever thread does."""

    def __len__(self) -> int:
        return len(self._held)

    def add(self, context: Context, lease_s: float, asked_at: float, token: str | int = "") -> None:
        """Hold an attempt that came with the answer to a request sent at `asked_at`."""
        context.trusted_until = asked_at + TRUSTED_SHARE * lease_s
        with self._lock:
            self._held[context.attempt_id] = Lease(context, lease_s, token)
        context.on_log(lambda: self.on_log())

    def drop(self, attempt_id: str) -> None:
        with self._lock:
            self._held.pop(attempt_id, None)

    def ids(self) -> list[str]:
        with self._lock:
            return list(self._held)

    def said(self) -> list[Said]:
        """What handlers have logged that the server does not have yet."""
        with self._lock:
            held = list(self._held.values())
        return all_unsaid([(lease.context, lease.token) for lease in held])

    def heard(self, pieces: Iterable[Said]) -> None:
        """The server has these."""
        with self._lock:
            for piece in pieces:
                lease = self._held.get(piece.attempt_id)
                if lease is not None:
                    lease.context.told = piece.offset + len(piece.text)

    def renewed(self, ids: Iterable[str], asked_at: float) -> None:
        """The server renewed these; `ids` leaves out those it named as lost."""
        with self._lock:
            for attempt_id in ids:
                lease = self._held.get(attempt_id)
                if lease is not None:
                    until = asked_at + TRUSTED_SHARE * lease.lease_s
                    lease.context.trusted_until = max(lease.context.trusted_until, until)

    def stop(self, ids: Iterable[str], reason: Stop) -> None:
        """Tell the handlers of some attempts to stop; one whose lease is lost is let go."""
        for attempt_id in ids:
            with self._lock:
                lease = self._held.get(attempt_id)
                if reason is Stop.LOST:
                    self._held.pop(attempt_id, None)
            if lease is not None:
                lease.context.stop(reason)

    def expire(self) -> list[str]:
        """Stop every attempt whose lease can no longer be relied on; their ids."""
        now = self._clock()
        with self._lock:
            gone = [
                attempt_id
                for attempt_id, lease in self._held.items()
                if lease.context.trusted_until <= now
            ]
        self.stop(gone, Stop.LOST)
        return gone

    def settle(self, attempt_id: str) -> None:
        """The handler has ended in time: keep the lease renewed until its result is taken.

        A finished result is offered to the server however long that takes; the lease's epoch
        decides whether it still counts, so losing trust no longer matters.
        """
        with self._lock:
            lease = self._held.get(attempt_id)
            if lease is not None:
                lease.context.trusted_until = float("inf")

    @property
    def next_expiry(self) -> float:
        """When the first lease runs out of trust, unless it is renewed; infinity for none."""
        with self._lock:
            return min((x.context.trusted_until for x in self._held.values()), default=float("inf"))

    @property
    def shortest_s(self) -> float | None:
        """The shortest term among the held leases."""
        with self._lock:
            return min((lease.lease_s for lease in self._held.values()), default=None)
