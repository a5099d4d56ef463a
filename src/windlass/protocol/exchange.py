"""What a pull worker and the server tell each other: one message each way, as JSON.

An exchange hands in results, renews leases, says how many attempts the worker can take, and brings
back attempts and everything the worker should know about those it holds.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from windlass.model.log_marks import LogMark

WORKERS_PATH = "/api/v1/workers"

RESULTS_MAX = 200
"""Results in one exchange; more wait for the next."""
SAID_MAX = 200
"""Pieces of logs in one exchange; more wait for the next."""
LOG_CHARS_MAX = 1_000_000


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the messages: camelCase on the wire, unknown fields ignored."""


class Registration(Wire, frozen=True, kw_only=True):
    """Who a worker is and what it serves."""

    id: str
    transport: str
    services: list[str]
    capacity: Annotated[int, Meta(ge=0, le=1_000_000)]
    url: str = ""
    meta: dict[str, Any] = {}


class Registered(Wire, frozen=True, kw_only=True):
    """How long the server's leases last and how often it wants to hear from the worker."""

    lease_s: float = 30.0
    heartbeat_s: float = 5.0


class Fault(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """Why an attempt brought no result."""

    kind: str
    """`failed`, `fatal` (never retried), `timeout`, or `cancelled` (given back)."""
    message: str
    retry_after_ms: Annotated[int, Meta(ge=0, le=10**12)] | None = None


class Result(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """How one attempt ended: with an output or with an error."""

    attempt_id: str
    token: str | int
    output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Fault | msgspec.UnsetType = msgspec.UNSET
    log: str = ""
    marks: list[LogMark] = []
    """What is known of stretches of its log."""
    usage: dict[str, float] = {}
    """What it has used up: `tokens`, `money`."""


class ActionStart(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt is about to do outside."""

    attempt_id: str
    token: str | int
    call_id: str
    tool: str
    effect: str = ""
    """Its effect class; where it is empty, the server's policy has to know the tool."""
    input: Any = None
    summary: str = ""
    approval_token: str = ""


class ActionEnd(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """How it went."""

    attempt_id: str
    token: str | int
    call_id: str
    state: str
    """`completed` or `failed`."""
    output: Any = None
    error: str = ""
    summary: str = ""


class ActionReceipt(Wire, frozen=True, kw_only=True):
    status: str
    """`accepted`, or `duplicate` where the same was said before."""


class Said(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt has logged since the worker last told, or a part of that."""

    attempt_id: str
    token: str | int
    offset: Annotated[int, Meta(ge=0, le=LOG_CHARS_MAX)]
    """Where it stands in the attempt's log: a piece that is sent again is kept once."""
    text: Annotated[str, Meta(max_length=LOG_CHARS_MAX)]
    age_ms: Annotated[int, Meta(ge=0, le=10**12)] = 0
    """For how long it has waited to be told."""
    marks: list[LogMark] = []
    """What is known of stretches of the text."""


class Exchange(Wire, frozen=True, kw_only=True):
    """From the worker: what it finished, what it still holds, and what it can take."""

    services: list[str]
    slots: int = 0
    caps: dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]] = {}
    """Services of which it can take fewer than it has slots."""
    number: int = 0
    """The worker's own number for this request, for another to name."""
    joins: int = 0
    """Another request of this worker that may be waiting here: what this one asks for is asked for
    by that one from now on."""
    ends: int = 0
    """Another request of this worker that may be waiting here: it is answered at once, with what
    it has been given by then."""
    wait_ms: int = 0
    results: list[Result] = []
    renew: list[str] = []
    said: list[Said] = []
    load: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Receipt(Wire, frozen=True, kw_only=True):
    """What became of one result: `accepted`, `duplicate` or `stale`."""

    attempt_id: str
    status: str
    detail: str = ""


class Assigned(Wire, frozen=True, kw_only=True):
    """One attempt, under a lease that starts when the server answers."""

    attempt_id: str
    token: str | int
    run_id: str
    task_id: str
    node: str
    number: int
    service: str
    input: msgspec.Raw
    params: msgspec.Raw
    lease_s: float = 30.0
    timeout_ms: int = 0
    role: str = "work"
    """What the result means to the run: work, a plan, or a verdict on another's work."""
    feedback: list[Any] = []
    """What was said of earlier tries."""
    env: dict[str, Any] | None = None
    """The place it is done in."""


class Reply(Wire, frozen=True, kw_only=True):
    """From the server: receipts, new attempts, and news of those the worker holds."""

    results: list[Receipt] = []
    attempts: list[Assigned] = []
    cancel: list[str] = []
    """Asked to stop, still held."""
    lost: list[str] = []
    """No longer held: stop, do not report."""
    known: bool = True
    joined: bool = False
    """Whether the request that was named waits here and has taken over."""
