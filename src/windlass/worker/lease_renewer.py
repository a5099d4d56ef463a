"""The renewer: renews the leases of running attempts from a thread of its own.

Handlers may block the event loop for as long as they like; leases and heartbeats do not depend on
it. When renewals fail for too long, the renewer stops the handlers before the server gives their
work to somebody else.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from windlass.model.errors import WindlassError
from windlass.protocol.exchange import Exchange, Registered, Reply
from windlass.worker.context import Stop
from windlass.worker.leases import Leases

log = logging.getLogger(__name__)

BEATS_PER_LEASE = 5
"""Several beats fit into a term, so one lost request does not cost a lease."""
PAUSE_S_MIN = 0.02
LOGS_S = 1.0
"""How long lines gather before they are told."""
BUSY_S = 2.0
"""At most this long between beats while something runs: a beat is how a cancellation arrives."""


class RenewalCalls(Protocol):
    """What the renewer needs of a server."""

    def register(self, timeout_s: float) -> Registered: ...

    def exchange(self, message: Exchange, timeout_s: float) -> Reply: ...

    def close(self) -> None: ...


class LeaseRenewer:
    """Beats until it is stopped; `beat` alone is what tests call."""

    def __init__(
        self,
        server: RenewalCalls,
        leases: Leases,
        services: list[str],
        load: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._leases = leases
        self._services = services
        self._load = load
        self._clock = clock
        self._interval_s = 5.0
        self._down = False
        self._wake = threading.Event()
        self._logged = False
        self._stopped = False
        leases.on_log = self.tell_soon
        self._thread = threading.Thread(target=self._run, name="renewer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def set_terms(self, terms: Registered) -> None:
        self._interval_s = min(terms.heartbeat_s, terms.lease_s / BEATS_PER_LEASE)

    def hurry(self, lease_s: float) -> None:
        """A lease came that may run out before the next beat: beat more often from now on."""
        if lease_s / BEATS_PER_LEASE < self._interval_s:
            self._interval_s = lease_s / BEATS_PER_LEASE
            self._wake.set()

    def tell_soon(self) -> None:
        """Something was logged: beat soon, however far away the next beat is."""
        if not self._logged:
            self._logged = True
            self._wake.set()

    def stop(self) -> None:
        """End the thread; at most one request later."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)
        self._server.close()

    def beat(self) -> None:
        """Renew everything that is held, and tell handlers what the server says of them."""
        asked_at = self._clock()
        message = self.question()
        try:
            reply = self._server.exchange(message, self._timeout_s(asked_at))
            if not reply.known:
                self.set_terms(self._server.register(self._timeout_s(self._clock())))
        except WindlassError as error:
            self._failed(error)
        else:
            self.heard(reply, message, asked_at)
        self.expire()

    def question(self) -> Exchange:
        """The message that asks to keep what is held now, and tells what it has logged."""
        return Exchange(
            services=self._services,
            renew=self._leases.ids(),
            said=self._leases.said(),
            load=self._load(),
        )

    def expire(self) -> None:
        """Stop what can no longer be relied on."""
        for attempt_id in self._leases.expire():
            log.warning("attempt %s: its lease could not be renewed, so it is stopped", attempt_id)

    def heard(self, reply: Reply, asked: Exchange, asked_at: float) -> None:
        """Tell handlers what the server says of what they hold."""
        if self._down:
            log.info("the server answers again")
        self._down = False
        if not reply.known:
            return  # a server that has only now heard of us renewed nothing
        lost = set(reply.lost)
        self._leases.heard(asked.said)
        self._leases.renewed((x for x in asked.renew if x not in lost), asked_at)
        self._leases.stop(reply.lost, Stop.LOST)
        self._leases.stop(reply.cancel, Stop.CANCELLED)

    def _failed(self, error: WindlassError) -> None:
        level = logging.DEBUG if self._down else logging.WARNING
        log.log(level, "heartbeat failed, going on trying: %s", error)
        self._down = True

    def _timeout_s(self, now: float) -> float:
        until_expiry = self._leases.next_expiry - now
        return max(0.05, min(self._interval_s, 5.0, until_expiry))

    def _run(self) -> None:
        while not self._stopped:
            until_expiry = self._leases.next_expiry - self._clock()
            interval_s = min(self._interval_s, BUSY_S) if len(self._leases) else self._interval_s
            self._wake.wait(max(PAUSE_S_MIN, min(interval_s, until_expiry)))
            self._wake.clear()
            if self._logged:
                until_expiry = self._leases.next_expiry - self._clock()
                self._wake.wait(max(PAUSE_S_MIN, min(LOGS_S, interval_s, until_expiry)))
                self._wake.clear()
                self._logged = False
            if not self._stopped:
                self.beat()
