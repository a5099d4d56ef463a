"""What clients are told of a run: AstraFlow's events, drawn from ours.

Every event of a run lists what it changed, so the same news can be told again from the database,
under the same ids: `<run>:<seq>:<place among the event's news>`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from windlass.dialects.workflow import HOST, NodeOrigin
from windlass.engine.engine import Engine
from windlass.engine.workflows import outline_of
from windlass.model.ids import attempt_id, task_of
from windlass.model.rows import Artifact, Event, Run, Task, Version
from windlass.model.states import RUN_ENDED, RunState, TaskState
from windlass.model.times import iso
from windlass.ports.store import Cond
from windlass.protocol.link import messages as m
from windlass.server.compat.astraflow.runs import whole_run
from windlass.server.compat.astraflow.views import (
    NODE_STATUS,
    RUN_STATUS,
    artifact_view,
    error_of,
    when,
)
from windlass.server.link.feedback import results_in
from windlass.server.link.plane import LinkPlane

_SHOWN = ("node", "container", "middleware")
_ARTIFACTS_MAX = 1_000


class News(NamedTuple):
    """One event as a client gets it."""

    id: str
    type: str
    at: int
    data: dict[str, Any]
    run_id: str = ""
    worker: str = ""
    durable: bool = True


class Teller:
    """Draws news from events of runs."""

    def __init__(self, engine: Engine, link: LinkPlane) -> None:
        self._engine = engine
        self._link = link

    async def node_of(self, run: Run, path: str, *shown: str) -> str:
        """The workflow's node a path of its graph stands for; "" for what only we know of."""
        place = await self._place_of(run, path)
        return place.node if place is not None and place.role in (*_SHOWN, *shown) else ""

    async def _place_of(self, run: Run, path: str) -> NodeOrigin | None:
        known: Mapping[str, NodeOrigin] | None = self._engine.outlines.get(run.version_id)
        if known is None:
            async with self._engine.store.session() as session:
                found = await session.rows(Version, [run.version_id])
            if not found:
                return None
            known = outline_of(self._engine, found[0])
        return known.get(path)

    async def snapshot(self, run: Run, id_: str = "") -> News:
        """A run as it stands, with its nodes."""
        view = await whole_run(self._engine, self._link, run)
        data = {"kind": "run.snapshot", "run": view, "nodes": view.nodes}
        place = id_ or f"{run.id}:{run.seq}:s"
        return News(place, "run.snapshot", run.updated_at, data, run.id)

    async def tell(self, run: Run, event: Event, tasks: Mapping[str, Task]) -> list[News]:
        """The news of one event; `tasks` are those the caller has at hand."""
        changes: list[dict[str, Any]] = msgspec.json.decode(event.data).get("changes", [])
        claimed = {
            task_of(change["attempt"])
            for change in changes
            if change.get("attempt") and change.get("state") == "claimed"
        }
        found: list[tuple[str, dict[str, Any]]] = []
        ends: list[int] = []
        for change in changes:
            if "run" in change:
                found.append(run_status(run, event, RunState(change["run"])))
                if change["run"] in RUN_ENDED:
                    ends.append(len(found))
            elif "task" in change and change["task"] not in claimed:
                found += await self._task(run, event, change, tasks)
            elif "attempt" in change:
                found += await self._attempt(run, event, change, tasks)
        news = [
            News(f"{run.id}:{event.seq}:{k}", type_, event.at, data, run.id)
            for k, (type_, data) in enumerate(found)
        ]
        if ends:
            news.append(await self.snapshot(run, f"{run.id}:{event.seq}:{len(found)}"))
        return news

    async def _task(
        self, run: Run, event: Event, change: dict[str, Any], tasks: Mapping[str, Task]
    ) -> list[tuple[str, dict[str, Any]]]:
        node = await self.node_of(run, change["node"])
        if not node:
            return []
        state = TaskState(change["state"])
        status = "completed" if state is TaskState.SUCCEEDED else NODE_STATUS[state]
        base = {"runId": run.id, "nodeId": node, "taskId": change["task"]}
        found = [("node.status", {**base, "status": status, "seq": event.seq})]
        if state is TaskState.FAILED and change.get("error"):
            error = error_of(msgspec.json.encode(change["error"]).decode())
            found.append(("node.error", {**base, "error": error}))
        if state is TaskState.SUCCEEDED:
            found += await self._result(run, event, change["task"], base, tasks)
        return [(type_, {"kind": type_, **data}) for type_, data in found]

    async def _result(
        self,
        run: Run,
        event: Event,
        task_id: str,
        base: dict[str, Any],
        tasks: Mapping[str, Task],
    ) -> list[tuple[str, dict[str, Any]]]:
        task = await self._load(task_id, tasks)
        if task is None:
            return []
        last = attempt_id(task.id, task.attempts)
        where = [Cond("attempt_id", "=", last)]
        rows = await self._engine.store.page(
            Artifact, where, order="resource_id", limit=_ARTIFACTS_MAX
        )
        made = [artifact_view(row) for row in rows]
        content = await self._content(run, task)
        result = {**base, "revision": event.seq, "format": "json", "content": content}
        found: list[tuple[str, dict[str, Any]]] = [
            ("artifact.ready", {**base, "artifactId": row.resource_id, "artifact": row})
            for row in made
        ]
        return [*found, ("node.result.snapshot", {**result, "artifacts": made, "complete": True})]

    async def _content(self, run: Run, task: Task) -> Any:
        """What came of a node: of one with middlewares, what is its own among all their results."""
        place = await self._place_of(run, task.node)
        if place is None or not place.middlewares:
            return msgspec.Raw((task.output or "null").encode())
        return msgspec.json.decode(task.output or "{}").get(HOST)

    async def _attempt(
        self, run: Run, event: Event, change: dict[str, Any], tasks: Mapping[str, Task]
    ) -> list[tuple[str, dict[str, Any]]]:
        """A task went to a worker (which has not said so yet), or the worker has begun."""
        state = change.get("state")
        if state not in ("claimed", "running"):
            return []
        task = await self._load(task_of(change["attempt"]), tasks)
        node = await self.node_of(run, task.node, HOST) if task is not None else ""
        if task is None or not node:
            return []
        data = {
            "kind": "node.status",
            "runId": run.id,
            "nodeId": node,
            "taskId": task.id,
            "status": "dispatching" if state == "claimed" else "running",
            "workerName": change.get("worker"),
            "seq": event.seq,
            "ackPending": state == "claimed",
        }
        return [("node.status", data)]

    async def _load(self, task_id: str, tasks: Mapping[str, Task]) -> Task | None:
        if task_id in tasks:
            return tasks[task_id]
        async with self._engine.store.session() as session:
            rows = await session.rows(Task, [task_id])
        return rows[0] if rows else None


def run_status(run: Run, event: Event, state: RunState) -> tuple[str, dict[str, Any]]:
    ended = state in RUN_ENDED
    data = {
        "kind": "run.status",
        "runId": run.id,
        "status": RUN_STATUS[state],
        "startedAt": when(run.started_at),
        "finishedAt": iso(event.at) if ended else None,
        "reason": msgspec.json.decode(event.data).get("reason"),
    }
    return "run.status", data


def feedback_news(
    run_id: str, node: str, revision: int, feedback: m.Feedback, at: int, sequence: int
) -> list[tuple[str, dict[str, Any]]]:
    """What a running task says of itself: how far it is, and pieces of its result."""
    base: dict[str, Any] = {"runId": run_id, "nodeId": node}
    found: list[tuple[str, dict[str, Any]]] = []
    if feedback.stage or feedback.message or feedback.progress is not None:
        state = {
            "stage": feedback.stage or "running",
            "progress": feedback.progress,
            "message": feedback.message,
            "lastUpdatedAt": iso(at),
        }
        found.append(("node.state", {**base, "state": state}))
    delta = {**base, "revision": revision, "terminal": False}
    for chunk in feedback.chunks or ():
        content = {"text": chunk.text, "dataBase64": chunk.data_base64}
        piece = {
            "operation": "append",
            "path": f"/channels/{chunk.channel}",
            "payload": {name: value for name, value in content.items() if value is not None},
            "chunkMeta": {
                "index": chunk.index,
                "mimeType": chunk.mime_type,
                "metadata": chunk.metadata,
            },
        }
        found.append(("node.result.delta", {**delta, **piece}))
    for path, value in results_in(feedback).items():
        piece = {"operation": "replace", "path": path, "payload": {"value": value}}
        if value is None:
            piece = {"operation": "remove", "path": path}
        found.append(("node.result.delta", {**delta, **piece}))
    for metric, number in (feedback.metrics or {}).items():
        tags = {"nodeId": node}
        data = {"runId": run_id, "metric": metric, "value": number, "tags": tags}
        found.append(("run.metrics", data))
    for place, (type_, data) in enumerate(found):
        data["kind"] = type_
        if type_ == "node.result.delta":
            data["sequence"] = sequence + place
    return found
