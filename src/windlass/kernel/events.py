"""What enters the kernel. Each event names the run it concerns through the ids it carries."""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.model.env_drift import EnvDrift
from windlass.model.hints import Hint
from windlass.model.ledger import ActionCall, ActionOutcome, EffectClass
from windlass.model.patches import Patch
from windlass.model.pods import PodSighting
from windlass.model.questions import Request
from windlass.model.rows import Failure, Json, Row, Run


class StartRun(msgspec.Struct, frozen=True):
    """Begin a run; the row carries its id, version and parameters."""

    run: Run


class BeginRun(msgspec.Struct, frozen=True):
    """There is a place for a run that was queued for one."""

    run_id: str


class ParkRun(msgspec.Struct, frozen=True):
    """A queued run waits for another of its limits than it did."""

    run_id: str
    limit: str


class ForkRun(msgspec.Struct, frozen=True):
    """Make another run of what one has done, and do it again from a task on."""

    run: Run
    """As the other stands, but under its own id."""
    source: str
    rows: Sequence[Row]
    """What the other has done, under the ids of the new one."""
    task_id: str
    input: Json | None = None
    """What the task is given instead of what it had."""


class Claim(msgspec.Struct, frozen=True):
    """Lease a queued task to a worker. Refused quietly if it is no longer queued."""

    task_id: str
    worker_id: str
    worker_url: str
    holder: str
    lease_ms: int
    limits: Json = ""
    """Ids of the limits of which a place is reserved for the attempt."""
    left: Json = ""
    """What is left of the budgets it is under, by unit."""
    profiles: tuple[str, ...] = ()
    """For a planner: the services somebody serves just now."""
    envs: tuple[tuple[str, str, str], ...] = ()
    """For a planner: name, kind and status of the resources there are."""


class BudgetQuestion(msgspec.Struct, frozen=True):
    """A budget that is spent, which somebody may raise."""

    key: str
    budget: int
    """As it was given."""
    total: int
    """With what was added since."""
    spent: int


class ParkTask(msgspec.Struct, frozen=True):
    """A limit of a queued task is used up: it waits outside its queue until it is woken."""

    task_id: str
    limit: str
    question: BudgetQuestion | None = None
    """What to ask a person meanwhile."""


class WakeTask(msgspec.Struct, frozen=True):
    """There is room again at the limit a task waits for: it goes back to its queue."""

    task_id: str


class EnvReserved(msgspec.Struct, frozen=True):
    """A resource has room for a place that a queued task needs."""

    task_id: str
    resource_id: str
    kind: str
    limits: Json
    """What is reserved for the session."""


class EnvAllocated(msgspec.Struct, frozen=True):
    """The place of a session is there."""

    session_id: str
    host: str
    details: Json = "{}"


class EnvRefused(msgspec.Struct, frozen=True):
    """The place of a session cannot be made, and why."""

    session_id: str
    message: str


class EnvSeen(msgspec.Struct, frozen=True):
    """What an attempt has changed in its place was looked at, or cannot be seen any more."""

    session_id: str
    drift: EnvDrift


class EnvReleased(msgspec.Struct, frozen=True):
    """The place of a session is gone."""

    session_id: str


class EnvGivenUp(msgspec.Struct, frozen=True):
    """Somebody wants a session ended."""

    session_id: str
    reason: str


class AttemptStarted(msgspec.Struct, frozen=True):
    """The worker says it has begun; nothing depends on it but what people see."""

    attempt_id: str


class AttemptSucceeded(msgspec.Struct, frozen=True):
    attempt_id: str
    output: Json
    log: str | None = None
    skipped: bool = False
    """There was nothing to do: the task ends skipped, and its edges do not fire."""
    metadata: dict[str, Any] | None = None
    """What the worker says of its result; kept with the attempt."""
    usage: dict[str, int] | None = None
    """What it has used, by unit."""


class AttemptFailed(msgspec.Struct, frozen=True):
    """The try ended without a result; `failure.kind` decides what it counts as."""

    attempt_id: str
    failure: Failure
    log: str | None = None
    usage: dict[str, int] | None = None


class AttemptDetached(msgspec.Struct, frozen=True):
    """The attempt goes on by itself as the pod of this namespace and name, which is made only after
    this is committed: from now on there is no lease that could run out."""

    attempt_id: str
    pod: str
    uid: str = ""
    """Of the pod that was made; empty before that."""


class PodObserved(msgspec.Struct, frozen=True):
    """Somebody saw what became of an attempt's pod."""

    attempt_id: str
    seen: PodSighting


class BriefAsked(msgspec.Struct, frozen=True):
    """Whoever makes the pod of an attempt asks what its program is to be told."""

    attempt_id: str


class ActionBegan(msgspec.Struct, frozen=True):
    """An attempt is about to do something outside."""

    attempt_id: str
    call: ActionCall


class ActionEnded(msgspec.Struct, frozen=True):
    """How that went; what happened outside is a fact, also if the lease is gone by now."""

    attempt_id: str
    outcome: ActionOutcome


class BoardWritten(msgspec.Struct, frozen=True):
    """An attempt writes on the blackboard; without a payload it takes the key away."""

    attempt_id: str
    key: str
    payload: Json | None
    expected: int | None = None
    """The revision it has seen, 0 for none; None writes over whatever is there."""


class NextRequested(msgspec.Struct, frozen=True):
    """A running middleware calls for what comes after it; the same request calls once."""

    attempt_id: str
    request_id: str
    payload: Json | None = None
    target: str = ""
    """The node it expects to reach, by its path; empty leaves that to the graph."""


class LeaseExpired(msgspec.Struct, frozen=True):
    """Nobody renewed the lease in time: the sweep read that it ran out at `lease_until`."""

    attempt_id: str
    lease_until: int


class TimerFired(msgspec.Struct, frozen=True):
    timer_id: str
    run_id: str


class SignalReceived(msgspec.Struct, frozen=True):
    run_id: str
    key: str
    value: Json


class CheckpointAnswered(msgspec.Struct, frozen=True):
    run_id: str
    checkpoint_id: str
    answer: Any
    by: str = ""
    note: str = ""


class CancelRequested(msgspec.Struct, frozen=True):
    run_id: str
    reason: str = ""


class TaskCancelRequested(msgspec.Struct, frozen=True):
    """Do without one task of a plan; what depends on it is skipped."""

    run_id: str
    task_id: str
    reason: str = ""


class QuestionAsked(msgspec.Struct, frozen=True):
    """Have a person asked before a task goes on."""

    run_id: str
    task_id: str
    request: Request
    name: str
    """Under which the question is kept: another for each."""
    by: str = ""


class HintGiven(msgspec.Struct, frozen=True):
    """Tell a plan something while it goes on."""

    run_id: str
    hint: Hint
    by: str = ""


class ApprovalGiven(msgspec.Struct, frozen=True):
    """Somebody allows the attempt that a task has, or has next, one thing that cannot be undone."""

    run_id: str
    task_id: str
    approval_id: str
    token_hash: str
    effect: EffectClass
    reason: str
    by: str
    expires_in_ms: int


class ApprovalRevoked(msgspec.Struct, frozen=True):
    """It was allowed, and is no more."""

    run_id: str
    approval_id: str


class BoardRebuilt(msgspec.Struct, frozen=True):
    """What a run has said on its blackboard is to be said anew."""

    run_id: str


class PriorityChanged(msgspec.Struct, frozen=True):
    """What waits of a run, and what it will come to, goes before or after others from now on."""

    run_id: str
    priority: int


class RetryRequested(msgspec.Struct, frozen=True):
    """Do a task again: alone (it must have failed), or with all that came after it."""

    run_id: str
    task_id: str | None = None
    descendants: bool = False
    also: tuple[str, ...] = ()
    """Branches of the same fan-out that failed too, and are done again with it."""


class RebindRequested(msgspec.Struct, frozen=True):
    """Send what waits for its worker elsewhere: to `worker_id`, or to any that can.

    `lost` names a worker that cannot do it; only what waits for it is meant then. If it is `gone`
    for good, what needs something only it has fails; otherwise that goes on waiting.
    """

    run_id: str
    worker_id: str | None = None
    lost: str | None = None
    gone: bool = False


class PatchGraph(msgspec.Struct, frozen=True):
    """Change the graph of a run. `revision` is the one the patch was made for; the same patch for
    the same revision is taken once, however often it comes."""

    run_id: str
    patch: Patch
    revision: int


class BreakRun(msgspec.Struct, frozen=True):
    """Another event of the run can never be decided or stored: end the run in its stead, so that
    nobody meets that event again."""

    run_id: str
    failure: Failure
    answer: Any = None
    """What whoever sent the other event is told."""


RunEvent = (
    Claim
    | ParkTask
    | WakeTask
    | BeginRun
    | ParkRun
    | EnvReserved
    | EnvAllocated
    | EnvRefused
    | EnvSeen
    | EnvReleased
    | EnvGivenUp
    | AttemptStarted
    | AttemptSucceeded
    | AttemptFailed
    | AttemptDetached
    | PodObserved
    | BriefAsked
    | ActionBegan
    | ActionEnded
    | BoardWritten
    | NextRequested
    | LeaseExpired
    | TimerFired
    | SignalReceived
    | CheckpointAnswered
    | CancelRequested
    | TaskCancelRequested
    | QuestionAsked
    | HintGiven
    | ApprovalGiven
    | ApprovalRevoked
    | BoardRebuilt
    | PriorityChanged
    | RetryRequested
    | RebindRequested
    | PatchGraph
    | BreakRun
)
"""Everything that can happen to a run that exists."""
