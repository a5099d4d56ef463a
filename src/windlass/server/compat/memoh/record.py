"""What is kept of a run, as this surface shows it."""

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from windlass.dialects.plan import ROOT
from windlass.engine import runs
from windlass.engine.engine import Engine
from windlass.kernel.briefs import profile_of
from windlass.kernel.planning.lower import tasks_of
from windlass.kernel.planning.settings import PlanSettings, settings_of
from windlass.model.errors import NotFound
from windlass.model.graph import Graph, Node, Ref
from windlass.model.ids import attempt_id, task_id
from windlass.model.manifests import read_manifest
from windlass.model.pods import lease_of
from windlass.model.questions import read_question
from windlass.model.rows import Attempt, Checkpoint, Event, Row, Run, Task, read_failure
from windlass.model.states import CheckpointState, Role, TaskState
from windlass.model.values import is_object
from windlass.model.work_answers import kept_answer, read_answer
from windlass.ports.store import Cond
from windlass.server.caller import engine_of
from windlass.server.compat.memoh import words
from windlass.server.compat.memoh.wire import decoded, moment

R = TypeVar("R", bound=Row)

_BATCH = 1_000


def root_id(run_id: str) -> str:
    """The task of the plan itself."""
    return task_id(run_id, ROOT, 0)


async def find_run(request: Request) -> Run:
    """The run a path names, if it is one of a plan and the caller's."""
    run = await runs.get_run(engine_of(request), request.path_params["run_id"])
    if run.dialect != "plan":
        raise NotFound(f'no run "{request.path_params["run_id"]}"')
    return run


class Record:
    """A run with its graph and its tasks."""

    def __init__(
        self, run: Run, graph: Graph, rows: list[Task], ended: set[str] | None = None
    ) -> None:
        self.run = run
        self.ended = ended
        """Attempts that had ended by then; None for now, where their rows say it."""
        self.graph = graph
        self.all_rows = rows
        self.rows = {row.id: row for row in rows if row.state is not TaskState.SUPERSEDED}
        """Those that count."""
        self.root = self.rows.get(root_id(run.id))

    @property
    def settings(self) -> PlanSettings:
        return settings_of(self.root.input if self.root is not None else self.run.params)

    def tasks(self) -> list[dict[str, Any]]:
        """The plan's task, then those of the newest plan, whether or not they have begun."""
        settings = self.settings
        found = [root_view(self.run, self.root, settings)]
        for node in tasks_of(self.graph, ROOT):
            key = task_id(root_id(self.run.id), node.path, 0)
            found.append(task_view(self.run, key, node, self.rows.get(key), settings))
        return found

    def dependencies(self) -> list[dict[str, Any]]:
        root = root_id(self.run.id)
        return [
            {
                "run_id": self.run.id,
                "predecessor_task_id": task_id(root, edge.source, 0),
                "successor_task_id": task_id(root, edge.target, 0),
                "planner_epoch": max(1, self.run.graph_rev),
            }
            for node in tasks_of(self.graph, ROOT)
            for edge in self.graph.edges.get(node.path, ())
            if edge.target is not None
        ]


async def load(engine: Engine, run: Run) -> Record:
    graph = await engine.graphs.load_of(run)
    async with engine.store.session() as session:
        rows = await session.run_tasks(run.id)
    return Record(run, graph, rows)


async def all_of(engine: Engine, table: type[R], run: Run) -> list[R]:
    """All rows of a run in a table, by their ids."""
    found: list[R] = []
    after = ""
    while True:
        where = [Cond("run_id", "=", run.id), Cond("id", ">", after)]
        rows = await engine.store.page(table, where, order="id", limit=_BATCH)
        found += rows
        if len(rows) < _BATCH:
            return found
        after = rows[-1].pk


# Views


def source_of(run: Run) -> dict[str, Any]:
    """What was given with the run that is not for its plan."""
    found: Any = msgspec.json.decode(run.params).get("source")
    return found if is_object(found) else {}


def run_view(run: Run, plan: Task | None, output: Any = None) -> dict[str, Any]:
    settings = settings_of(plan.input if plan is not None else run.params)
    source = source_of(run)
    limits = msgspec.structs.asdict(settings.limits)
    return {
        **run_line(run, plan),
        "tenant_id": run.tenant,
        "owner_subject": source.get("created_by", ""),
        "created_by": source.get("created_by", ""),
        "status_version": run.generation + 1,
        "planner_epoch": max(1, run.graph_rev),
        "last_event_seq": run.seq,
        "input": settings.input if settings.input is not None else {},
        "output": output,
        "output_schema": settings.output_schema or {},
        "requested_control_policy": source.get("requested_control_policy") or {},
        "control_policy": {"runtime_limits": limits, "on_failure": str(settings.on_failure)},
        "source_metadata": source.get("source_metadata") or {},
        "policies": source.get("policies") or {},
    }


def run_line(run: Run, plan: Task | None) -> dict[str, Any]:
    """A run in a list."""
    params = msgspec.json.decode(run.params)
    failure = read_failure(run.error)
    return {
        "id": run.id,
        "bot_id": source_of(run).get("bot_id", ""),
        "goal": params.get("goal", ""),
        "lifecycle_status": words.run_status(run),
        "intent_status": words.intent_status(plan),
        "root_task_id": root_id(run.id),
        "terminal_reason": failure.message if failure is not None else "",
        "created_at": moment(run.created_at),
        "updated_at": moment(run.updated_at),
        "finished_at": moment(run.finished_at),
    }


def root_view(run: Run, row: Task | None, settings: PlanSettings) -> dict[str, Any]:
    view = _task(run, root_id(run.id), row)
    view |= {"kind": "root", "role": "", "alias": "", "goal": settings.goal, "inputs": {}}
    return view | {"worker_profile": settings.worker, "decomposed_from_task_id": None}


def task_view(
    run: Run, key: str, node: Node, row: Task | None, settings: PlanSettings
) -> dict[str, Any]:
    planned = node.planned
    assert planned is not None
    inputs: Any = decoded(row.input) if row is not None and row.input else None
    if inputs is None:
        inputs = node.input.literal if isinstance(node.input, Ref) else {}
    told = settings.hints.get(node.key, {})
    return _task(run, key, row) | {
        "decomposed_from_task_id": root_id(run.id),
        "kind": "join" if node.target and node.target.service == "builtin.join" else "step",
        "role": planned.role,
        "alias": node.key,
        "goal": planned.goal,
        "inputs": {**inputs, **told} if is_object(inputs) else inputs,
        "worker_profile": profile_of(node),
        "priority": planned.priority,
        "retry_policy": {
            "max_attempts": node.retry.retries_max + 1,
            "backoff_seconds": node.retry.wait_ms / 1000,
        },
        "verification_policy": node.verification.policy if node.verification else {},
        "env_preconditions": planned.env or {"required": False},
        "blackboard_scope": planned.blackboard_scope,
        "depends_on": list(planned.depends_on),
    }


def _task(run: Run, key: str, row: Task | None) -> dict[str, Any]:
    failure = read_failure(row.error) if row is not None else None
    done = row is not None and row.state is TaskState.SUCCEEDED and row.attempts
    ended = row is not None and row.state in (TaskState.FAILED, TaskState.CANCELLED)
    skipped = row is not None and row.state is TaskState.SKIPPED
    return {
        "id": key,
        "run_id": run.id,
        "planner_epoch": max(1, run.graph_rev),
        "superseded_by_planner_epoch": None,
        "status": words.task_status(row),
        "status_version": row.generation + 1 if row is not None else 1,
        "waiting_checkpoint_id": row.wait_key if row is not None else None,
        "waiting_scope": words.waiting_scope(row),
        "latest_result_id": attempt_id(key, row.claim or row.attempts) if row and done else None,
        "attempts": row.attempts if row is not None else 0,
        "blocked_reason": "dependency_failed" if skipped else "",
        "terminal_reason": failure.message if ended and failure is not None else "",
        "ready_at": moment(ready_at(row)) if row is not None else None,
        "created_at": moment(row.created_at) if row is not None else moment(run.created_at),
        "finished_at": moment(row.finished_at) if row is not None else None,
    }


def ready_at(row: Task) -> int | None:
    """Since when a task could be done, or from when on it can be done again."""
    pauses = row.state is TaskState.WAITING and not row.wait_key and row.due_at is not None
    return row.due_at if pauses else row.ready_at


def attempt_view(row: Attempt) -> dict[str, Any]:
    """An attempt; nothing of what fences it is shown."""
    failure = read_failure(row.error)
    return {
        "id": row.id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "attempt_no": row.number,
        "claim_epoch": row.number,
        "role": str(row.role),
        "worker_id": row.worker_id,
        "input_manifest_id": row.id if row.manifest else None,
        "status": words.ATTEMPT[row.state],
        "failure_class": (failure.code or failure.kind) if failure is not None else "",
        "terminal_reason": failure.message if failure is not None else "",
        "lease_expires_at": moment(lease_of(row)),
        "claimed_at": moment(row.claimed_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
    }


def manifest_view(row: Attempt) -> dict[str, Any] | None:
    """What an attempt was given; it is called as its attempt is."""
    given = read_manifest(row.manifest)
    if given is None:
        return None
    return {
        "id": row.id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "attempt_id": row.id,
        "captured_task_inputs": given.inputs,
        "captured_artifact_versions": given.artifacts,
        "captured_blackboard_revisions": given.blackboard,
        "captured_env_preconditions": given.env,
        "projection_hash": given.hash,
        "created_at": moment(row.claimed_at),
    }


def verification_view(row: Attempt) -> dict[str, Any]:
    verdict = decoded(row.output) if row.output is not None else None
    given = verdict if is_object(verdict) else {}
    profile = row.queue.partition(":")[2]
    told = {
        "verdict": str(given.get("verdict", "")),
        "summary": str(given.get("summary", "")),
        "verifier_profile": profile,
    }
    return {**attempt_view(row), **told}


def result_view(row: Attempt, task: Task | None) -> dict[str, Any] | None:
    """What an attempt that worked has answered: as it is kept with it, or with its task."""
    own = row.output
    if own is None and task is not None and task.attempts == row.number:
        own = task.output
    if own is None or row.role is not Role.WORK:
        return None
    read = read_answer(msgspec.json.decode(own))
    answer = kept_answer(None) if isinstance(read, str) else read
    return {
        "id": row.id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "attempt_id": row.id,
        "status": "failed" if words.ATTEMPT[row.state] == "failed" else answer.status,
        "summary": answer.summary,
        "failure_class": answer.failure_class,
        "request_replan": answer.request_replan,
        "artifact_intents": answer.artifacts,
        "structured_output": answer.structured_output,
    }


def artifacts_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{result['id']}/{number}",
            "run_id": result["run_id"],
            "task_id": result["task_id"],
            "attempt_id": result["attempt_id"],
            "content_type": "",
            "summary": "",
            "metadata": {},
            **artifact,
        }
        for number, artifact in enumerate(result["artifact_intents"])
    ]


def checkpoint_view(row: Checkpoint) -> dict[str, Any]:
    question = read_question(row.details)
    answer = decoded(row.answer)
    reply = answer if is_object(answer) else {"option_id": answer} if answer is not None else {}
    mode = reply.get("mode") or ("select_option" if reply else "")
    expired = row.state is CheckpointState.EXPIRED
    return {
        "id": row.id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "kind": row.kind,
        "blocks_run": question.blocks_run,
        "status": words.CHECKPOINT[row.state],
        "question": row.prompt,
        "options": [msgspec.structs.asdict(option) for option in question.options],
        "default_action": question.default_action,
        "resume_policy": question.resume_policy or {"resume_mode": "new_attempt"},
        "severity": question.severity,
        "reason_code": question.reason_code,
        "timeout_at": moment(row.expires_at),
        "resolved_by": "system" if expired else row.answered_by or "",
        "resolved_mode": mode,
        "resolved_option_id": reply.get("option_id", ""),
        "resolved_freeform_input": reply.get("freeform_input", ""),
        "resolved_at": moment(row.answered_at),
        "metadata": {"asked_by": question.asked_by} if question.asked_by else {},
        "created_at": moment(row.created_at),
    }


def event_view(row: Event) -> dict[str, Any]:
    return {
        "id": f"{row.run_id}:{row.seq}",
        "run_id": row.run_id,
        "task_id": row.task_id,
        "seq": row.seq,
        "aggregate_type": "task" if row.task_id else "run",
        "aggregate_id": row.task_id or row.run_id,
        "aggregate_version": row.seq,
        "type": words.event_type(row.type),
        "correlation_id": row.run_id,
        "payload": msgspec.Raw(row.data.encode()),
        "created_at": moment(row.at),
    }
