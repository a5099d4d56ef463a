"""What the lists show of runs, tasks, flows, checkpoints, workers and tokens.

Each list has columns for people and fields for programs. The fields are what scripts cut by number:
add at the end, never in between.
"""

from collections.abc import Callable, Sequence
from typing import Any

from windlass.cli.tables import Column
from windlass.cli.texts import (
    ago,
    first_line,
    question_place,
    short_ids,
    state_text,
    style_of,
    took,
    written_place,
)
from windlass.client.shapes import (
    CheckpointInfo,
    FailureInfo,
    FlowInfo,
    LimitInfo,
    LimitRuleInfo,
    RevisionInfo,
    RunInfo,
    TaskInfo,
    TokenInfo,
    WorkerInfo,
)
from windlass.model.ids import as_written, run_of

RUN_FIELDS = ("id", "flow", "version", "state", "created_at", "finished_at", "error", "failures")
TASK_FIELDS = (
    "id",
    "node",
    "kind",
    "state",
    "attempts",
    "started_at",
    "finished_at",
    "error",
    "total",
    "done",
    "failed",
)
REVISION_FIELDS = ("revision", "at", "reason", "author", "added", "edges", "dropped", "redone")
FLOW_FIELDS = ("name", "latest", "versions", "created_at", "description")
CHECKPOINT_FIELDS = ("id", "flow", "node", "prompt", "state", "created_at", "expires_at")
WORKER_FIELDS = (
    "id",
    "state",
    "transport",
    "load",
    "capacity",
    "held",
    "seen_at",
    "services",
)
USER_FIELDS = ("user_id", "username", "display_name", "roles", "is_active")
TOKEN_FIELDS = (
    "id",
    "name",
    "role",
    "workers",
    "tenant",
    "created_at",
    "expires_at",
    "revoked_at",
)
TENANT_FIELDS = ("name", "description", "weight", "created_at")


def run_columns(runs: Sequence[RunInfo]) -> list[Column]:
    short = short_ids(run.id for run in runs)

    def version(run: RunInfo) -> str:
        return f"{run.flow}@{run.version}" if run.version is not None else run.flow

    return [
        Column("ID", lambda run: short[run.id], full=lambda run: run.id),
        Column("FLOW", version),
        Column(
            "STATE", lambda run: state_text(run.outcome), style=lambda run: style_of(run.outcome)
        ),
        Column("STARTED", at("created_at"), rank=1),
        Column("TOOK", lambda run: took(run.started_at, run.finished_at), rank=3),
        Column("ERROR", error_line, rank=2, bends=True),
    ]


def revision_columns() -> list[Column]:
    def changes(found: RevisionInfo) -> str:
        told = (("+", found.added), ("-", found.dropped), ("redone ", found.redone))
        return " ".join(f"{sign}{path}" for sign, paths in told for path in paths)

    return [
        Column("REVISION", lambda found: str(found.revision)),
        Column("AT", at("at")),
        Column("BY", lambda found: found.author, rank=2),
        Column("REASON", lambda found: found.reason, rank=1, bends=True),
        Column("CHANGES", changes, rank=1, bends=True),
    ]


def task_columns() -> list[Column]:
    return [
        Column("TASK", lambda task: written_place(task.id), full=lambda task: task.id),
        Column("KIND", lambda task: task.kind, rank=4),
        STATE,
        Column("PROGRESS", progress, rank=1),
        Column("STARTED", at("started_at"), rank=3),
        Column("TOOK", lambda task: took(task.started_at, task.finished_at), rank=2),
        Column("ERROR", error_line, rank=1, bends=True),
    ]


def progress(task: TaskInfo, running: int = 0) -> str:
    """How far a fan-out is: `✓120 ✗3 ▶5 ○72`; of any other task, which attempt it is at."""
    if not task.total:
        return f"attempt {task.attempts}" if task.attempts > 1 else ""
    rest = max(0, task.total - task.done)
    counts = (
        ("✓", max(0, task.done - task.failed)),
        ("✗", task.failed),
        ("▶", min(running, rest)),
        ("○", rest - min(running, rest)),
    )
    return " ".join(f"{icon}{count}" for icon, count in counts if count)


def flow_columns() -> list[Column]:
    return [
        Column("NAME", lambda flow: flow.name),
        Column("LATEST", lambda flow: "" if flow.latest is None else str(flow.latest)),
        Column("VERSIONS", lambda flow: str(flow.versions), rank=3),
        Column("CREATED", at("created_at"), rank=2),
        Column("DESCRIPTION", described, rank=1, bends=True),
    ]


def described(flow: FlowInfo) -> str:
    return first_line(flow.description)


def checkpoint_columns(found: Sequence[CheckpointInfo]) -> list[Column]:
    short = short_ids(run_of(item.id) for item in found)

    def shown(item: CheckpointInfo) -> str:
        return f"{short[run_of(item.id)]}~{question_place(item.id)}"

    return [
        Column("ID", shown, full=lambda item: item.id),
        Column("FLOW", lambda item: item.flow, rank=2),
        Column("QUESTION", question, bends=True),
        STATE,
        Column("ASKED", at("created_at"), rank=1),
        Column("EXPIRES", at("expires_at"), rank=3),
    ]


def question(item: CheckpointInfo) -> str:
    return first_line(item.prompt) or as_written(item.node)


def worker_columns() -> list[Column]:
    return [
        Column("ID", lambda worker: worker.id),
        STATE,
        Column("BY", lambda worker: worker.transport, rank=2),
        Column("BUSY", busy, rank=1),
        Column("SEEN", at("seen_at"), rank=3),
        Column("SERVICES", lambda worker: ", ".join(worker.services), rank=1, bends=True),
    ]


def busy(worker: WorkerInfo) -> str:
    held = max(worker.load, worker.held)
    return f"{held}/{worker.capacity}" if worker.capacity else str(held)


def token_columns() -> list[Column]:
    return [
        Column("ID", lambda token: token.id),
        Column("NAME", lambda token: token.name),
        Column("ROLE", lambda token: token.role),
        Column("WORKER", lambda token: token.workers, rank=2),
        Column("TENANT", lambda token: token.tenant, rank=2),
        Column("CREATED", at("created_at"), rank=2),
        Column("EXPIRES", token_end, rank=1),
    ]


def tenant_columns() -> list[Column]:
    return [
        Column("NAME", lambda tenant: tenant.name),
        Column("DESCRIPTION", lambda tenant: tenant.description, rank=1, bends=True),
        Column("CREATED", at("created_at"), rank=2),
    ]


LIMIT_FIELDS = (
    "key",
    "max",
    "in_use",
    "waiting",
    "rate",
    "per_s",
    "burst",
    "paused_until",
    "next_at",
    "rule",
    "unit",
    "budget",
    "spent",
    "reserved",
    "breaker",
    "failures",
)
RULE_FIELDS = (
    "pattern",
    "max",
    "rate",
    "per_s",
    "burst",
    "budget",
    "trip_after",
    "reset_s",
    "changed_at",
    "changed_by",
)


def limit_columns() -> list[Column]:
    return [
        Column("KEY", lambda use: use.key),
        Column("IN USE", lambda use: f"{use.in_use:g}"),
        Column("MAX", lambda use: "" if use.max is None else f"{use.max:g}"),
        Column("RATE", rate_text),
        Column("SPENT", spent_text, rank=1),
        Column("WAITING", lambda use: str(use.waiting)),
        Column("BREAKER", lambda use: use.breaker, rank=1),
        Column("RULE", lambda use: use.rule, rank=1),
    ]


def rule_columns() -> list[Column]:
    return [
        Column("KEYS", lambda rule: rule.pattern),
        Column("MAX", lambda rule: "" if rule.max is None else f"{rule.max:g}"),
        Column("RATE", rate_text),
        Column("BUDGET", lambda rule: "" if rule.budget is None else f"{rule.budget:g}", rank=1),
        Column("CHANGED", at("changed_at"), rank=1),
        Column("BY", lambda rule: rule.changed_by, rank=2),
    ]


def rate_text(item: LimitInfo | LimitRuleInfo) -> str:
    return f"{item.rate} in {item.per_s:g} s" if item.rate else ""


def spent_text(item: LimitInfo) -> str:
    if not item.unit:
        return ""
    return f"{item.spent:g}" if item.budget is None else f"{item.spent:g} of {item.budget:g}"


def user_columns() -> list[Column]:
    return [
        Column("ID", lambda user: user.user_id, rank=1),
        Column("NAME", lambda user: user.username),
        Column("CALLED", lambda user: user.display_name, rank=2),
        Column("ROLES", lambda user: ", ".join(user.roles)),
        Column("STATE", lambda user: "active" if user.is_active else "disabled"),
    ]


def token_end(token: TokenInfo) -> str:
    if token.revoked_at is not None:
        return f"revoked {ago(token.revoked_at)}"
    return "" if token.expires_at is None else ago(token.expires_at)


def at(field: str) -> Callable[[Any], str]:
    """A column's text: when that was."""

    def text(item: Any) -> str:
        found = getattr(item, field)
        return "" if found is None else ago(found)

    return text


def error_line(item: RunInfo | TaskInfo) -> str:
    return error_text(item.error)


def error_text(error: FailureInfo | None) -> str:
    return "" if error is None else first_line(error.message) or error.kind


STATE = Column(
    "STATE", lambda item: state_text(item.state), style=lambda item: style_of(item.state)
)
