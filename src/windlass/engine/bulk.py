"""Bulk jobs: an act on many runs, promised as effects, done slice by slice by whichever server.

A job, its items and the effects that will do them are one commit. A slice does its items one after
the other; each act carries its item's mark into its own commit, so that a slice whose server died
is done again and nothing in it twice.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from windlass.engine import runs
from windlass.engine.deleting import delete_run
from windlass.engine.engine import Engine
from windlass.engine.filters import found_by
from windlass.engine.reruns import rerun
from windlass.model.access import Audit
from windlass.model.bulk import BULK, BulkAct, BulkItem, BulkJob, BulkState, ItemState
from windlass.model.effects import Effect
from windlass.model.errors import BadRequest, Conflict, NotFound, Unavailable, WindlassError
from windlass.model.rows import Checkpoint, Json, Row, Run
from windlass.ports.store import Cond

T = TypeVar("T")

TARGETS_MAX = 10_000
_SLICE = 25
"""Few enough that a slice is done well within the lease of its effect."""
_DETAIL_CHARS_MAX = 500
FITTING = {
    BulkAct.CANCEL: "status:queued,running,waiting",
    BulkAct.RETRY: "status:failed",
    BulkAct.RERUN: "",
    BulkAct.DELETE: "status:succeeded,failed,cancelled",
    BulkAct.ANSWER: "status:running,waiting",
}
"""Which runs an act makes sense for: only these are taken of what a filter finds."""


class Answer(msgspec.Struct, frozen=True):
    """What is answered to every question of a job."""

    value: object
    note: str = ""


class Counts(msgspec.Struct, frozen=True):
    """How far a job is."""

    done: int
    failed: int
    left: int


# Asking for a job


async def targets_of(engine: Engine, act: BulkAct, query: str) -> list[str]:
    """The runs a filter finds that an act makes sense for, or their open questions."""
    where = await found_by(engine.store, f"{query} {FITTING[act]}".strip())
    found = await engine.store.page(Run, where, descending=True, limit=TARGETS_MAX + 1, heavy=False)
    ids = [run.id for run in found]
    if act is BulkAct.ANSWER:
        ids = [point for some in _some(ids, 500) for point in await _questions(engine, some)]
    if len(ids) > TARGETS_MAX:
        raise BadRequest(f"more than {TARGETS_MAX} match; narrow the filter")
    return ids


async def _questions(engine: Engine, run_ids: Sequence[str]) -> list[str]:
    where = [Cond("run_id", "in", list(run_ids)), Cond("state", "=", "open")]
    return [row.id for row in await engine.store.page(Checkpoint, where, limit=TARGETS_MAX)]


async def start_job(
    engine: Engine,
    act: BulkAct,
    targets: Sequence[str],
    actor: str,
    *along: Row,
    job_id: str,
    query: str = "",
    answer: Answer | None = None,
) -> BulkJob:
    """Promise an act on some targets; each of them once, however often it is named."""
    targets = list(dict.fromkeys(targets))
    if not targets:
        raise BadRequest("nothing matches; there is nothing to do")
    if len(targets) > TARGETS_MAX:
        raise BadRequest(f"at most {TARGETS_MAX} at once")
    now = engine.store.now()
    job = BulkJob(
        id=job_id,
        tenant=engine.tenant,
        actor=actor,
        act=act,
        query=query,
        body="{}" if answer is None else msgspec.json.encode(answer).decode(),
        total=len(targets),
        created_at=now,
    )
    items = [
        BulkItem(
            id=f"{job.id}~{number:05}",
            tenant=job.tenant,
            job_id=job.id,
            target=target,
            mark=engine.new_id(),
        )
        for number, target in enumerate(targets)
    ]
    await engine.write(job, *items, *_promises(job, items, now), *along)
    return job


def _promises(job: BulkJob, items: Sequence[BulkItem], now: int) -> Iterator[Effect]:
    for some in _some(items, _SLICE):
        body = msgspec.json.encode([item.id for item in some]).decode()
        yield Effect(id=f"{BULK}:{some[0].id}", kind=BULK, body=body, due_at=now, created_at=now)


def _some(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


# Looking at jobs


async def get_job(engine: Engine, job_id: str) -> BulkJob:
    async with engine.store.session() as session:
        found = await session.rows(BulkJob, [job_id])
    if not found:
        raise NotFound(f'no bulk job "{job_id}"')
    return found[0]


async def counts_of(engine: Engine, job: BulkJob) -> Counts:
    async def count(state: ItemState) -> int:
        where = [Cond("job_id", "=", job.id), Cond("state", "=", str(state))]
        return await engine.store.count(BulkItem, where)

    done, failed = await count(ItemState.DONE), await count(ItemState.FAILED)
    return Counts(done, failed, job.total - done - failed)


async def refused(engine: Engine, job: BulkJob, limit: int = 200) -> list[BulkItem]:
    """The first items that could not be done."""
    where = [Cond("job_id", "=", job.id), Cond("state", "=", str(ItemState.FAILED))]
    return await engine.store.page(BulkItem, where, limit=limit)


async def stop_job(engine: Engine, job_id: str, *along: Row) -> BulkJob:
    """Leave what a job has not done yet."""
    await get_job(engine, job_id)
    now = engine.store.now()

    def stopped(job: BulkJob) -> BulkJob | None:
        if job.state is not BulkState.WORKING:
            return None
        return replace(job, state=BulkState.STOPPED, finished_at=now)

    if await engine.update(BulkJob, job_id, stopped, *along) is None:
        raise Conflict("the job is over already")
    return await get_job(engine, job_id)


# Doing them


class BulkWorker:
    """Does slices of jobs as effects."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def do_slice(self, effect: Effect) -> None:
        ids = msgspec.json.decode(effect.body, type=list[str])
        async with self._engine.store.session() as session:
            items = sorted(await session.rows(BulkItem, ids), key=lambda item: item.id)
        if not items:
            return
        for item in items:
            async with self._engine.store.session() as session:
                jobs = await session.rows(BulkJob, [item.job_id])
            if not jobs or jobs[0].state is not BulkState.WORKING:
                return
            if item.state is ItemState.WAITING:
                await self._do(jobs[0], item)
        await self._finish(items[0].job_id)

    async def _do(self, job: BulkJob, item: BulkItem) -> None:
        engine = self._engine.of(job.tenant)
        try:
            if not await self._is_marked(item):
                await act(engine, job, item)
            after = replace(item, state=ItemState.DONE)
        except Unavailable:
            raise  # the slice is tried again
        except WindlassError as error:
            if await self._is_marked(item):
                # Another process had the slice as well, and was quicker.
                after = replace(item, state=ItemState.DONE)
            else:
                after = replace(item, state=ItemState.FAILED, detail=str(error)[:_DETAIL_CHARS_MAX])

        def said(now: BulkItem) -> BulkItem | None:
            return after if now.state is ItemState.WAITING else None

        await self._engine.update(BulkItem, item.id, said)

    async def _is_marked(self, item: BulkItem) -> bool:
        """Whether the act was committed before somebody died."""
        async with self._engine.store.session() as session:
            return bool(await session.rows(Audit, [item.mark]))

    async def _finish(self, job_id: str) -> None:
        where = [Cond("job_id", "=", job_id), Cond("state", "=", str(ItemState.WAITING))]
        if await self._engine.store.count(BulkItem, where):
            return
        now = self._engine.store.now()

        def over(job: BulkJob) -> BulkJob | None:
            if job.state is not BulkState.WORKING:
                return None
            return replace(job, state=BulkState.DONE, finished_at=now)

        await self._engine.update(BulkJob, job_id, over)


async def act(engine: Engine, job: BulkJob, item: BulkItem) -> None:
    """Do what a job is about to one target; what says so in the audit goes into the same commit."""
    match job.act:
        case BulkAct.CANCEL:
            await runs.cancel(engine, item.target, "bulk", _line(engine, job, item))
        case BulkAct.RETRY:
            await runs.retry(engine, item.target, None, False, _line(engine, job, item))
        case BulkAct.RERUN:
            run = await runs.get_run(engine, item.target)
            await rerun(engine, run, f"bulk {item.mark}", lambda _: _line(engine, job, item))
        case BulkAct.DELETE:
            run = await runs.get_run(engine, item.target)
            await delete_run(engine, run, _line(engine, job, item))
        case BulkAct.ANSWER:
            answer = msgspec.json.decode(job.body, type=Answer)
            noted = _line(engine, job, item)
            await runs.answer(
                engine, item.target, answer.value, noted, by=job.actor, note=answer.note
            )


def _line(engine: Engine, job: BulkJob, item: BulkItem) -> Audit:
    answers = job.act is BulkAct.ANSWER
    detail: Json = msgspec.json.encode({"bulk": job.id, "q": job.query}).decode()
    return Audit(
        id=item.mark,
        at=engine.store.now(),
        actor=job.actor,
        action="checkpoint.answer" if answers else f"run.{job.act}",
        target_type="checkpoint" if answers else "run",
        target_id=item.target,
        detail=detail,
        tenant=job.tenant,
    )
