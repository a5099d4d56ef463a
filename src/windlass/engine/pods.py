"""Attempts that are pods: the engine's side of the `PodWork` port."""

from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from typing import cast

from windlass.engine import facts, pod_records
from windlass.engine.attempts import Attempts, bounded
from windlass.engine.engine import Engine
from windlass.engine.pod_records import PodWaits
from windlass.kernel.events import AttemptDetached, BriefAsked
from windlass.model.errors import Conflict, NotFound, StaleLease
from windlass.model.graph import Node, Transport
from windlass.model.ids import run_of, task_of
from windlass.model.pod_records import KubeEvents
from windlass.model.pods import DETACHED_UNTIL, FactOutcome, PodClass, PodSighting, read_ref
from windlass.model.queues import service_of, transport_of
from windlass.model.reasons import Reason
from windlass.model.rows import Attempt, Json, LogChunk, Run, Task, read_failure
from windlass.model.states import ATTEMPT_LIVE, AttemptState
from windlass.ports.pods import Detached, PodTask
from windlass.ports.store import Cond, Writes

_PAGE = 1_000
_TAIL = 10_000_000
"""Where the end of what a pod has said stands: behind all that its program has logged itself."""
_HISTORY_MAX = 100


class PodAttempts(Attempts):
    """What a launcher needs beside what everybody does who executes attempts."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.on_end: list[Callable[[str, str], None]] = []
        """Told of attempts that were pods and have ended, each with its `external_ref`."""
        self._waits = PodWaits(engine)
        engine.advance.listeners.append(self._committed)

    async def namespaces(self) -> Collection[str]:
        rows = await self._engine.store.query("queue_names")
        queues = [row["queue"] for row in rows]
        return {service_of(queue) for queue in queues if transport_of(queue) == Transport.POD}

    async def task(self, attempt_id: str) -> PodTask | None:
        store = self._engine.store
        async with store.session() as session:
            attempts = await session.rows(Attempt, [attempt_id])
            tasks = await session.rows(Task, [task_of(attempt_id)])
            runs = await session.rows(Run, [run_of(attempt_id)])
        if not (attempts and tasks and runs) or attempts[0].state not in ATTEMPT_LIVE:
            return None
        [attempt], [task], [run] = attempts, tasks, runs
        graph = await self._engine.graphs.load_of(run)
        node = graph.nodes.get(task.node)
        if node is None or node.target is None or node.target.pod is None:
            return None
        return PodTask(
            attempt_id=attempt.id,
            task_id=task.id,
            run_id=run.id,
            flow_id=run.flow_id,
            node=task.node,
            number=attempt.number,
            tenant=run.tenant,
            input=await self._input(attempt, task, node),
            spec=node.target.pod,
            oom_count=await self._out_of_memory(task) if attempt.number > 1 else 0,
        )

    async def _input(self, attempt: Attempt, task: Task, node: Node) -> Json:
        """What its program is told: of a plan's task the brief, as any worker of it gets it."""
        if node.planned is None:
            return task.input or "null"
        brief: Json = await self._engine.submit(BriefAsked(attempt.id))
        return brief

    async def _out_of_memory(self, task: Task) -> int:
        where = [Cond("id", ">", task.id + "@"), Cond("id", "<", task.id + "A")]
        rows = await self._engine.store.page(
            Attempt, where, order="number", descending=True, limit=_HISTORY_MAX, heavy=False
        )
        failures = [read_failure(row.error) for row in rows]
        return sum(1 for failure in failures if failure and failure.code == PodClass.OOM)

    async def installation(self) -> str:
        secret = await self._engine.store.secret()
        return blake2b(secret.encode(), digest_size=8, person=b"installation").hexdigest()

    async def detach(self, attempt_id: str, pod: str, uid: str = "") -> bool:
        try:
            await self._engine.submit(AttemptDetached(attempt_id, pod, uid))
        except (Conflict, NotFound, StaleLease):
            return False
        if not uid:
            # The sweep knows a detached attempt anyway; so it need not look at it every time.
            await self._engine.store.renew([attempt_id], DETACHED_UNTIL)
        return True

    async def observe(self, attempt_id: str, seen: PodSighting) -> FactOutcome:
        return await facts.observe(self._engine, attempt_id, seen)

    async def detached(self) -> list[Detached]:
        found: list[Detached] = []
        after = ""
        while True:
            rows = await self._engine.store.query("detached_attempts", after=after, count_max=_PAGE)
            for row in rows:
                ref = read_ref(row["external_ref"])
                running = row["state"] == AttemptState.RUNNING
                stopping = row["cancel_at"] is not None
                found.append(Detached(row["id"], ref.pod, ref.uid, running, stopping))
            if len(rows) < _PAGE:
                return found
            after = rows[-1]["id"]

    async def live(self, attempts: Sequence[str]) -> Collection[str]:
        async with self._engine.store.session() as session:
            rows = await session.rows(Attempt, sorted(attempts))
        return {row.id for row in rows if row.state in ATTEMPT_LIVE}

    async def keep_log(self, attempt_id: str, text: str) -> None:
        engine = self._engine
        chunk = LogChunk(
            attempt_id=attempt_id,
            number=_TAIL,
            run_id=run_of(attempt_id),
            channel="stdout",
            text=bounded(text) or "",
            at=engine.store.now(),
        )
        await engine.write(chunk)

    async def waits_for(self, reasons: dict[str, Reason]) -> None:
        await self._waits.note(reasons)

    async def keep_events(self, attempt_id: str, events: KubeEvents) -> None:
        await pod_records.keep_events(self._engine, attempt_id, events)

    def _committed(self, writes: Writes) -> None:
        for row in cast("dict[str, Attempt]", writes.changed.get(Attempt, {})).values():
            if row.external_ref and row.state not in ATTEMPT_LIVE:
                for tell in self.on_end:
                    tell(row.id, row.external_ref)
