"""Bulk jobs: one act on many runs, in the background, which can be watched and stopped."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import bulk
from windlass.engine.bulk import Answer
from windlass.engine.engine import Engine
from windlass.model.bulk import BulkAct, BulkItem, BulkJob, BulkState
from windlass.model.errors import BadRequest
from windlass.ports.store import Cond
from windlass.protocol.bulk_api import (
    BULK_PATH,
    BulkCount,
    BulkJobBody,
    BulkJobList,
    BulkJobView,
    BulkRefusal,
)
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import page_limit, read_json, reply
from windlass.server.routes import Route

_ID_CHARS_MAX = 2_000


async def create_job(request: Request) -> Response:
    """Do something to every run a filter finds, or to those named; the job can be watched."""
    body = await read_json(request, BulkJobBody)
    engine = engine_of(request)
    targets = await wanted(engine, body)
    if body.dry_run:
        return reply(BulkCount(matched=len(targets)))
    job_id = engine.new_id()
    noted = line(request, "bulk.start", "bulk", job_id, act=body.act, q=body.q, n=len(targets))
    job = await bulk.start_job(
        engine,
        body.act,
        targets,
        who(request).name,
        noted,
        job_id=job_id,
        query=body.q.strip(),
        answer=Answer(body.answer, body.note) if body.act is BulkAct.ANSWER else None,
    )
    return reply(await job_view(engine, job), 202)


async def wanted(engine: Engine, body: BulkJobBody) -> list[str]:
    if body.act is BulkAct.ANSWER and body.answer in (None, ""):
        raise BadRequest('an answer is needed, such as "approved" or "rejected"')
    if bool(body.ids) == bool(body.q.strip()):
        raise BadRequest("a bulk job needs a filter or ids; flow:* would be everything")
    if not body.ids:
        return await bulk.targets_of(engine, body.act, body.q)
    if any(not id_ or len(id_) > _ID_CHARS_MAX or "\0" in id_ for id_ in body.ids):
        raise BadRequest("ids: each is the whole id of a run or a checkpoint")
    return body.ids


async def list_jobs(request: Request) -> Response:
    """Bulk jobs, the newest first; `state` is one of theirs."""
    engine = engine_of(request)
    state = request.query_params.get("state", "")
    if state and state not in set(BulkState):
        raise BadRequest(f'state "{state:.40}": one of {", ".join(BulkState)}')
    where = [Cond("state", "=", state)] if state else []
    limit = page_limit(request, 20, 100)
    found = await engine.store.page(BulkJob, where, descending=True, limit=limit)
    return reply(BulkJobList(items=[await job_view(engine, job) for job in found]))


async def get_job(request: Request) -> Response:
    """A bulk job: how far it is, and what was refused."""
    engine = engine_of(request)
    job = await bulk.get_job(engine, request.path_params["id"])
    return reply(await job_view(engine, job, await bulk.refused(engine, job)))


async def stop_job(request: Request) -> Response:
    """Stop a bulk job: what it has not done yet is left as it is."""
    engine = engine_of(request)
    job_id = request.path_params["id"]
    job = await bulk.stop_job(engine, job_id, line(request, "bulk.stop", "bulk", job_id))
    return reply(await job_view(engine, job))


async def job_view(
    engine: Engine, job: BulkJob, refused: list[BulkItem] | None = None
) -> BulkJobView:
    counts = await bulk.counts_of(engine, job)
    return BulkJobView(
        id=job.id,
        act=job.act,
        q=job.query,
        actor=job.actor,
        state=job.state,
        total=job.total,
        done=counts.done,
        failed=counts.failed,
        left=counts.left,
        created_at=job.created_at,
        finished_at=job.finished_at,
        refused=[BulkRefusal(id=item.target, detail=item.detail) for item in refused or ()],
    )


_ONE = BULK_PATH + "/{id}"
ROUTES = [
    Route(
        "POST",
        BULK_PATH,
        create_job,
        "operator",
        BulkJobBody,
        (BulkJobView, BulkCount),
        202,
        control=True,
    ),
    Route("GET", BULK_PATH, list_jobs, gives=BulkJobList, query=("state", "limit")),
    Route("GET", _ONE, get_job, gives=BulkJobView),
    Route("POST", f"{_ONE}/stop", stop_job, "operator", None, BulkJobView),
]
