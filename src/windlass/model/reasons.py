"""Reasons: why a run, a task or a pod stands where it stands, as a code with values.

Nothing here is a sentence. Whoever shows a reason words it: the API and the command line in English
(`protocol/reason_words.py`), the web UI in the language of its reader. Times are absolute, so that
a page can count while somebody looks at it.
"""

from enum import StrEnum

import msgspec


class ReasonCode(StrEnum):
    """What is the matter. A new one needs a wording here and in both languages of the web UI."""

    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    RUN_BEGINNING = "run.beginning"
    """It has a place and begins with the next commit."""
    RUN_BETWEEN = "run.between"
    """It is between two steps."""
    RUN_UNREADABLE = "run.unreadable"
    """This program cannot read its definition."""

    LEASE_HELD = "lease.held"
    LEASE_EXPIRED = "lease.expired"

    QUEUE_NO_WORKER = "queue.no_worker"
    """Nobody who lives serves it."""
    QUEUE_BUSY = "queue.busy"
    QUEUE_OWNER_BUSY = "queue.owner_busy"
    """It belongs to one worker, which is busy."""
    QUEUE_OWNER_AWAY = "queue.owner_away"
    QUEUE_PACKAGE_BUSY = "queue.package_busy"
    QUEUE_PACKAGE_MISSING = "queue.package_missing"
    """None of the workers on the link has its package."""
    QUEUE_NO_LINK = "queue.no_link"
    """There is no worker on the link at all."""
    QUEUE_PODS_OUT = "queue.pods_out"
    """As many pods are out as may be."""
    QUEUE_NO_LAUNCHER = "queue.no_launcher"
    QUEUE_NO_SERVER = "queue.no_server"
    QUEUE_SLOTS_BUSY = "queue.slots_busy"
    QUEUE_SCRIPTS_OFF = "queue.scripts_off"
    QUEUE_NO_FUNCTION = "queue.no_function"

    SLEEP = "sleep"
    CHECKPOINT = "checkpoint"
    SIGNAL = "signal"
    RETRY_PAUSE = "retry.pause"
    BRANCHES = "branches"
    """Other branches have to finish first."""
    HELD_BACK = "held_back"
    """The whole run waits for an answer."""
    VERIFY_LOOK = "verify.look"
    """Its environment is looked at before it is judged."""
    VERIFY_PAUSE = "verify.pause"
    TASK_STATE = "task.state"
    """Nothing more is known than its state."""

    LIMIT_FULL = "limit.full"
    LIMIT_RATE = "limit.rate"
    LIMIT_ROOM = "limit.room"
    LIMIT_PUSHED_BACK = "limit.pushed_back"
    BREAKER_OPEN = "breaker.open"
    BREAKER_TRIAL = "breaker.trial"
    RETRIES_OUT = "retries.out"
    RETRIES_SPENT = "retries.spent"
    BUDGET_RESERVED = "budget.reserved"
    BUDGET_SPENT = "budget.spent"
    QUOTA_FULL = "quota.full"
    QUOTA_TOO_MUCH = "quota.too_much"
    """It takes more than there may ever be."""

    ENV_UNKNOWN = "env.unknown"
    """Nobody has made such an environment."""
    ENV_CLOSED = "env.closed"
    ENV_QUEUE = "env.queue"
    ENV_MAKING = "env.making"
    ENV_NO_HOST = "env.no_host"
    """Nobody who has such a runtime has taken it."""
    ENV_NO_RUNTIME = "env.no_runtime"
    """Nobody here has such a runtime; of a kind of environments, rather than of a task."""

    POD_RUNNING = "pod.running"
    POD_PENDING = "pod.pending"
    POD_UNMADE = "pod.unmade"
    POD_MADE = "pod.made"
    POD_UNSCHEDULED = "pod.unscheduled"
    """No node has it yet."""
    POD_CONTAINER = "pod.container"
    """A container of it waits."""
    POD_STARTING = "pod.starting"


class ReasonValues(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the wording of a code is filled with; each code has some of them."""

    node: str = ""
    """The task it is about, by the name of its node; empty for a run or a pod."""
    idx: int = -1
    """Its place in a fan-out; -1 outside of one."""
    role: str = ""
    """What it waits for or is held for: `work`, `verify` or `plan`."""
    state: str = ""
    worker: str = ""
    workers: int = 0
    attempt: int = 0
    since: int = 0
    """Unix milliseconds, like all times here."""
    until: int = 0
    """When it ends by itself; 0 if it does not."""
    stopping: bool = False
    """It was asked to stop."""
    transport: str = ""
    service: str = ""
    package: str = ""
    other_worker: str = ""
    """Who serves the same by another transport."""
    other_transport: str = ""
    fails_after_s: float = 0.0
    """It fails when nobody has taken it for so long; 0 if it does not."""
    install_worker: str = ""
    """Who was told to install the package."""
    install_at: int = 0
    install_error: str = ""
    key: str = ""
    """A signal's, a limit's or a budget's."""
    ahead: int = 0
    """How many come first."""
    used: str = ""
    """Amounts are written as people read them, with their unit."""
    most: str = ""
    reserved: str = ""
    wanted: str = ""
    unit: str = ""
    tenant: str = ""
    project: str = ""
    failures: int = 0
    env: str = ""
    kind: str = ""
    """Of an environment: `container`, `browser`, …"""
    pod: str = ""
    place: str = ""
    """The machine a pod is on."""
    cause: str = ""
    """In Kubernetes' words."""
    share: float = -1.0
    """How far a program says it is, between 0 and 1; -1 if it has not said."""
    heard_at: int = 0
    message: str = ""
    """Somebody else's words: an error, or what a program says of itself."""


class Reason(msgspec.Struct, frozen=True):
    """Why something stands where it stands."""

    code: ReasonCode
    values: ReasonValues = ReasonValues()


def about(reason: Reason, node: str, idx: int = -1, role: str = "") -> Reason:
    """The same reason, of a task."""
    values = msgspec.structs.replace(reason.values, node=node, idx=idx, role=role)
    return Reason(reason.code, values)
