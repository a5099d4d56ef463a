"""Reasons in English, a line each: for the command line, for logs, and for older clients."""

from collections.abc import Callable, Mapping

from windlass.model.env_advice import advice, nothing_makes
from windlass.model.ids import as_written
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.model.states import Role

Words = Callable[[ReasonValues, int], str]
_DOES = {Role.WORK: "runs on", Role.VERIFY: "is verified by", Role.PLAN: "is planned by"}
_QUEUED = {
    Role.WORK: "is queued",
    Role.VERIFY: "waits for a verdict",
    Role.PLAN: "waits for its planner",
}
_EXEC_TYPES = {"pull": "queue", "push": "http"}


def say(reason: Reason, now: int) -> str:
    """One reason as it is at a moment, in unix milliseconds."""
    return WORDS[reason.code](reason.values, now)


def say_why(reason: Reason, now: int, *, more: int = 0, cancelling: bool = False) -> str:
    """The line of a run: its first reason, and how many open tasks there are beside."""
    begins = "being cancelled: " if cancelling else ""
    return begins + say(reason, now) + (f" (and {more} more)" if more else "")


# Pieces of sentences


def _name(values: ReasonValues) -> str:
    index = f"[{values.idx}]" if values.idx >= 0 else ""
    return f'"{as_written(values.node)}"{index}'


def _left(until: int, now: int) -> str:
    return f"{(until - now) / 1000:.0f} s"


def _next(until: int, now: int) -> str:
    return f"{max(0, until - now) / 1000:.1f} s"


def _more(values: ReasonValues, now: int) -> str:
    return f" for {_left(values.until, now)} more" if values.until else ""


def _ahead(values: ReasonValues) -> str:
    return f"{values.ahead} ahead of you"


def _stop(values: ReasonValues) -> str:
    return ", asked to stop" if values.stopping else ""


def _told(text: str, begins: str) -> str:
    return f"{begins}{text}" if text else ""


# Runs


def _ended(word: str) -> Words:
    def words(values: ReasonValues, now: int) -> str:
        if values.node:
            return f'{word} at "{as_written(values.node)}": {values.message}'
        if values.message:
            return f"{word}: {values.message}"
        return word + (f", with {values.failures} failed tasks on the way" * bool(values.failures))

    return words


# Leases and queues


def _lease(text: Words) -> Words:
    def words(values: ReasonValues, now: int) -> str:
        does = _DOES[Role(values.role)]
        lease = f"attempt {values.attempt}, {text(values, now)}{_stop(values)}"
        return f"{_name(values)} {does} {values.worker} ({lease})"

    return words


def _queue(text: Words) -> Words:
    def words(values: ReasonValues, now: int) -> str:
        since = _left(now, values.since)
        return f"{_name(values)} {_QUEUED[Role(values.role)]} for {since}: {text(values, now)}"

    return words


def _scripts_off(values: ReasonValues, now: int) -> str:
    begins = f"{_name(values)} {_QUEUED[Role(values.role)]}"
    return f"{begins} for a script, and scripts are off; start the server with --allow-scripts"


def _no_worker(values: ReasonValues, now: int) -> str:
    line = f'no live {values.transport} worker serves "{values.service}"'
    if values.other_worker:
        exec_type = _EXEC_TYPES[values.other_transport]
        hint = f"write exec_type: {exec_type}, or start it with --transport {values.transport}"
        line += f"; {values.other_worker} serves it by {values.other_transport}: {hint}"
    return line + _fails_after(values)


def _no_function(values: ReasonValues, now: int) -> str:
    return f'no server has a local function "{values.service}"' + _fails_after(values)


def _fails_after(values: ReasonValues) -> str:
    if not values.fails_after_s:
        return ""
    return f"; it fails after {values.fails_after_s:.0f} s without one"


def _package_missing(values: ReasonValues, now: int) -> str:
    line = f"none of {values.workers} workers on the link has {values.package}"
    if not values.install_worker:
        return line
    who = f"worker {values.install_worker}"
    if values.install_error:
        return f"{line}; {who} could not install it: {values.install_error}"
    return f"{line}; {who} was told {_left(now, values.install_at)} ago to install it"


# Limits


def _waits(text: Words) -> Words:
    """What a task waits for; or a run that has yet to begin, which has no name."""

    def words(values: ReasonValues, now: int) -> str:
        begins = f"{_name(values)} waits" if values.node else "waits to begin"
        return f"{begins}: {text(values, now)}"

    return words


def _quota(values: ReasonValues, now: int) -> str:
    owner = f"project {values.project}" if values.project else f"tenant {values.tenant}"
    text = f"quota of {owner}: {values.used} of {values.most or 'any'} {values.unit} in use"
    return text + _told(values.wanted, ", it takes ")


def _budget(values: ReasonValues) -> str:
    return f"{values.used} of {values.most} {values.unit}"


def _budget_spent(values: ReasonValues, now: int) -> str:
    hint = "answer its question in the inbox, or raise it with `windlass limit set`"
    spent = f"budget of the {values.kind} is spent: {_budget(values)}"
    return f"{spent}, {_ahead(values)}; {hint}"


# Environments and pods


def _making(values: ReasonValues, now: int) -> str:
    if not values.env:
        return f"{_name(values)} waits for its environment"
    since = _left(now, values.since)
    line = f'waits for env "{values.env}": its {values.kind} is being made for {since}'
    return f"{_name(values)} {line}{_told(values.message, '; ')}"


def _no_host(values: ReasonValues, now: int) -> str:
    hint = f"nobody who has such a runtime has taken it: {advice(values.kind)}"
    return f"{_making(values, now)}; {hint}"


def _pod_running(values: ReasonValues, now: int) -> str:
    line = f"runs in pod {values.pod} (attempt {values.attempt}{_stop(values)})"
    if values.heard_at:
        share = "" if values.share < 0 else f" {values.share:.0%}"
        said = share + _told(values.message, " ")
        ago = f" heard of {_left(max(now, values.heard_at), values.heard_at)} ago"
        line += f":{said},{ago}" if said else f",{ago}"
    return f"{_name(values)} {line}"


def _pod(text: Words) -> Words:
    """What a pod waits for; with the task it is of, where that is not plain from the place."""

    def words(values: ReasonValues, now: int) -> str:
        if not values.node:
            return text(values, now)
        pod = f"is pod {values.pod} (attempt {values.attempt}{_stop(values)})"
        return f"{_name(values)} {pod}, which {text(values, now)}"

    return words


def _container(values: ReasonValues, now: int) -> str:
    more = f" ({values.message})" if values.message else ""
    return f"waits on node {values.place}: {values.cause}{more}"


WORDS: Mapping[ReasonCode, Words] = {
    ReasonCode.RUN_SUCCEEDED: _ended("succeeded"),
    ReasonCode.RUN_FAILED: _ended("failed"),
    ReasonCode.RUN_CANCELLED: _ended("cancelled"),
    ReasonCode.RUN_BEGINNING: lambda v, now: (
        "waits to begin: between two steps; it begins with the next commit"
    ),
    ReasonCode.RUN_BETWEEN: lambda v, now: (
        f"{v.state}: between two steps; it moves on with the next commit"
    ),
    ReasonCode.RUN_UNREADABLE: lambda v, now: (
        f"this program cannot read the run's definition: {v.message}"
    ),
    ReasonCode.LEASE_HELD: _lease(lambda v, now: f"lease for {_left(v.until, now)} more"),
    ReasonCode.LEASE_EXPIRED: _lease(lambda v, now: "lease expired, being taken back"),
    ReasonCode.QUEUE_NO_WORKER: _queue(_no_worker),
    ReasonCode.QUEUE_BUSY: _queue(
        lambda v, now: f'all {v.workers} {v.transport} workers for "{v.service}" are busy'
    ),
    ReasonCode.QUEUE_OWNER_BUSY: _queue(
        lambda v, now: f"it belongs to worker {v.worker}, which is busy"
    ),
    ReasonCode.QUEUE_OWNER_AWAY: _queue(
        lambda v, now: (
            f"it belongs to worker {v.worker}, which is not on the link;"
            " others may have it when it is given up"
        )
    ),
    ReasonCode.QUEUE_PACKAGE_BUSY: _queue(
        lambda v, now: f"all {v.workers} workers that have {v.package} are busy"
    ),
    ReasonCode.QUEUE_PACKAGE_MISSING: _queue(_package_missing),
    ReasonCode.QUEUE_NO_LINK: _queue(
        lambda v, now: (
            f"no worker on the link has {v.package};"
            " start one with `windlass worker packages --transport link`"
        )
    ),
    ReasonCode.QUEUE_PODS_OUT: _queue(
        lambda v, now: "as many pods are out as may be; see --kube-pods"
    ),
    ReasonCode.QUEUE_NO_LAUNCHER: _queue(
        lambda v, now: (
            "no server launches pods; start one with --kube-url, --kubeconfig or --kube-in-cluster"
        )
    ),
    ReasonCode.QUEUE_NO_SERVER: _queue(lambda v, now: "no control plane is running"),
    ReasonCode.QUEUE_SLOTS_BUSY: _queue(lambda v, now: "all slots for it are busy"),
    ReasonCode.QUEUE_SCRIPTS_OFF: _scripts_off,
    ReasonCode.QUEUE_NO_FUNCTION: _queue(_no_function),
    ReasonCode.SLEEP: lambda v, now: f"{_name(v)} sleeps{_more(v, now)}",
    ReasonCode.CHECKPOINT: lambda v, now: (
        f"{_name(v)} waits for a person to answer"
        + (f", expires in {_left(v.until, now)}" if v.until else "")
    ),
    ReasonCode.SIGNAL: lambda v, now: f'{_name(v)} waits for signal "{v.key}"{_more(v, now)}',
    ReasonCode.RETRY_PAUSE: lambda v, now: (
        f"{_name(v)} waits{_more(v, now)} before attempt {v.attempt}{_told(v.message, ' after: ')}"
    ),
    ReasonCode.BRANCHES: lambda v, now: f"{_name(v)} waits for other branches to finish",
    ReasonCode.HELD_BACK: lambda v, now: (
        f"{_name(v)} is held back with the whole run until a question is answered"
    ),
    ReasonCode.VERIFY_LOOK: lambda v, now: (
        f"{_name(v)} waits for a last look at its env, {_left(v.until, now)} at most, to be judged"
    ),
    ReasonCode.VERIFY_PAUSE: lambda v, now: (
        f"{_name(v)} waits {_left(v.until, now)} before its verdict is asked for again"
    ),
    ReasonCode.TASK_STATE: lambda v, now: f"{_name(v)} is {v.state}",
    ReasonCode.LIMIT_FULL: _waits(
        lambda v, now: f"limit {v.key}: {v.used} of {v.most} in use, {_ahead(v)}"
    ),
    ReasonCode.LIMIT_RATE: _waits(
        lambda v, now: f"rate {v.key}: next in {_next(v.until, now)}, {_ahead(v)}"
    ),
    ReasonCode.LIMIT_ROOM: _waits(lambda v, now: f"limit {v.key}: there is room, {_ahead(v)}"),
    ReasonCode.LIMIT_PUSHED_BACK: _waits(
        lambda v, now: f"{v.key} has pushed back: next in {_next(v.until, now)}, {_ahead(v)}"
    ),
    ReasonCode.BREAKER_OPEN: _waits(
        lambda v, now: (
            f"breaker of {v.key} is open after {v.failures} failures:"
            f" next try in {_next(v.until, now)}, {_ahead(v)}"
        )
    ),
    ReasonCode.BREAKER_TRIAL: _waits(
        lambda v, now: f"breaker of {v.key} is half-open: {v.used} on trial, {_ahead(v)}"
    ),
    ReasonCode.RETRIES_OUT: _waits(
        lambda v, now: (
            f"retry budget of tenant {v.tenant}: {v.used} of {v.most} retries are out, {_ahead(v)}"
        )
    ),
    ReasonCode.RETRIES_SPENT: _waits(
        lambda v, now: (
            f"retry budget of tenant {v.tenant} is spent:"
            f" next in {_left(max(now, v.until), now)}, {_ahead(v)}"
        )
    ),
    ReasonCode.BUDGET_RESERVED: _waits(
        lambda v, now: (
            f"budget of the {v.kind}: {_budget(v)} spent, {v.reserved} reserved, {_ahead(v)}"
        )
    ),
    ReasonCode.BUDGET_SPENT: _waits(_budget_spent),
    ReasonCode.QUOTA_FULL: _waits(lambda v, now: f"{_quota(v, now)}, {_ahead(v)}"),
    ReasonCode.QUOTA_TOO_MUCH: _waits(
        lambda v, now: (
            f"{_quota(v, now)}, which is more than there may ever be:"
            " raise the quota or ask for less"
        )
    ),
    ReasonCode.ENV_UNKNOWN: lambda v, now: (
        f'{_name(v)} waits for env "{v.env}", which nobody has made;'
        f" make it with `windlass env create {v.env} --kind container`"
    ),
    ReasonCode.ENV_CLOSED: lambda v, now: f'{_name(v)} waits for env "{v.env}", which is {v.state}',
    ReasonCode.ENV_QUEUE: lambda v, now: (
        f'{_name(v)} waits for env "{v.env}" ({v.used} of {v.most} leased, {v.ahead} ahead)'
    ),
    ReasonCode.ENV_MAKING: _making,
    ReasonCode.ENV_NO_HOST: _no_host,
    ReasonCode.ENV_NO_RUNTIME: lambda v, now: nothing_makes(v.kind),
    ReasonCode.POD_RUNNING: _pod_running,
    ReasonCode.POD_PENDING: _pod(lambda v, now: "has not begun"),
    ReasonCode.POD_UNMADE: _pod(lambda v, now: f"is not made yet: {v.message}"),
    ReasonCode.POD_MADE: _pod(lambda v, now: "was just made"),
    ReasonCode.POD_UNSCHEDULED: _pod(lambda v, now: f"waits for a node{_told(v.message, ': ')}"),
    ReasonCode.POD_CONTAINER: _pod(_container),
    ReasonCode.POD_STARTING: _pod(lambda v, now: f"waits to begin on node {v.place}"),
}
"""What is said for each code; a test holds that none is missing."""
