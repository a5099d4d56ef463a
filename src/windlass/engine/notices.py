"""What processes on one database tell each other of a commit, as short texts.

`queue Q`: tasks wait in Q that nobody here could take. `runs A B …`: these runs moved. `logs A B
…`: attempts of these runs logged something. `stop A W`: whoever has the connection of worker W
should tell it to stop attempt A. `worker W`: worker W of the link has begun a session here,
or is back in one. `mail`: effects wait to be done. `limits`: a rule on limits or a resource of
environments has changed, or a service wants to be left alone. `tenants`: so has a tenant. A
notice only has somebody look sooner: what it is about is in the database, and is found there
without it too.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from windlass.model.effects import Effect
from windlass.model.envs import EnvResource
from windlass.model.limits import LimitRule
from windlass.model.rows import Attempt, LogChunk, Run, Worker
from windlass.model.tenants import Tenant
from windlass.ports.store import Writes

_RUNS_EACH = 150
"""Run ids in one notice: PostgreSQL takes no longer texts than 8,000 bytes."""
_STOPPED = ("cancelled", "timed_out", "lost")


class News(msgspec.Struct):
    """Notices, read."""

    queues: set[str] = msgspec.field(default_factory=set[str])
    runs: set[str] = msgspec.field(default_factory=set[str])
    logs: set[str] = msgspec.field(default_factory=set[str])
    stops: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    """Attempts, and the workers that have them."""
    workers: set[str] = msgspec.field(default_factory=set[str])
    """Of the link, with a session elsewhere."""
    mail: bool = False
    limits: bool = False
    tenants: bool = False


def stopped(writes: Writes) -> list[Attempt]:
    """Attempts that a commit asks to stop, or takes away."""
    changed = cast("dict[str, Attempt]", writes.changed.get(Attempt, {})).values()
    return [a for a in changed if a.cancel_at is not None or a.state in _STOPPED]


def talking(writes: Writes) -> set[str]:
    """Runs of which a commit keeps something that their attempts logged."""
    said = cast("dict[object, LogChunk]", writes.made.get(LogChunk, {})).values()
    return {chunk.run_id for chunk in said}


def notices_of(writes: Writes, queues: Iterable[str]) -> list[str]:
    """What others should hear of a commit that leaves tasks in these queues."""
    moved = [*writes.made.get(Run, ()), *writes.changed.get(Run, ())]
    notices = [f"queue {queue}" for queue in sorted(queues)]
    for kind, ids in (("runs", moved), ("logs", sorted(talking(writes)))):
        for first in range(0, len(ids), _RUNS_EACH):
            notices.append(f"{kind} {' '.join(ids[first : first + _RUNS_EACH])}")
    notices += [f"stop {attempt.id} {attempt.worker_id}" for attempt in stopped(writes)]
    arrived = cast("dict[str, Worker]", writes.made.get(Worker, {})).values()
    notices += [f"worker {worker.id}" for worker in arrived if worker.transport == "link"]
    if writes.made.get(Effect):
        notices.append("mail")
    for rules, notice in ((_RULES, "limits"), (_TENANTS, "tenants")):
        tables = (writes.made, writes.changed, writes.removed)
        if not all(rules.isdisjoint(rows) for rows in tables):
            notices.append(notice)
    return notices


_RULES = frozenset({LimitRule, EnvResource})
"""What every process keeps in memory of what may be handed out."""
_TENANTS = frozenset({Tenant})


def read(notices: Sequence[str]) -> News:
    news = News()
    for notice in notices:
        kind, _, rest = notice.partition(" ")
        match kind:
            case "queue":
                news.queues.add(rest)
            case "runs":
                news.runs.update(rest.split())
            case "logs":
                news.logs.update(rest.split())
            case "stop":
                attempt, _, worker = rest.partition(" ")
                news.stops.append((attempt, worker))
            case "worker":
                news.workers.add(rest)
            case "mail":
                news.mail = True
            case "limits":
                news.limits = True
            case "tenants":
                news.tenants = True
            case _:
                continue  # a newer process may say more than this one understands
    return news
