"""Plans: runs whose graph is planned while they go on."""

from typing import Any
from uuid import UUID, uuid5

import msgspec

from windlass.dialects.fields import Problems
from windlass.dialects.plan.profiles import given_profiles
from windlass.engine import runs
from windlass.engine.engine import Engine
from windlass.engine.flows import Startable, target_of
from windlass.kernel.planning.settings import judged_by_pods, read_settings
from windlass.model.errors import BadRequest, Conflict, Unavailable
from windlass.model.plans import Plan, read_plan
from windlass.model.rows import Flow, Json, Version
from windlass.model.tenants import own_name

NAME = "plan"
"""The flow that runs of plans are runs of, in each tenant."""
_IDS = UUID("8f0c1c7e-6a52-4b53-9d51-2f7f0b0b6d11")


async def start(
    engine: Engine,
    settings: dict[str, Any],
    *,
    key: str = "",
    tags: Json = "{}",
    priority: int = 0,
    budget: object = None,
    project: str = "",
) -> tuple[runs.Started, Startable]:
    """Begin a run for a goal; a plan that comes with it is checked first."""
    settings = with_profiles(settings)
    target = await plan_target(engine)
    text = msgspec.json.encode(settings, order="sorted").decode()
    started = await runs.start_run(
        engine, target, text, key=key, tags=tags, priority=priority, budget=budget, project=project
    )
    return started, target


def with_profiles(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a plan with its profiles as a run keeps them, or an error that says all that
    is wrong."""
    problems = Problems()
    planner = str(settings.get("planner_profile") or "")
    profiles = given_profiles(settings.get("profiles"), planner, problems)
    kept = {name: value for name, value in settings.items() if name != "profiles"}
    read = read_settings(kept)
    if isinstance(read, str):
        raise BadRequest(read)
    if read.plan is not None:
        plan = read_plan(read.plan, read.limits)
        wrong = plan if not isinstance(plan, Plan) else judged_by_pods(profiles, plan)
        for problem in wrong:
            problems.add(problem.path, problem.reason, problem.hint)
    problems.raise_if_any()
    return {**kept, "profiles": profiles} if profiles else kept


async def plan_target(engine: Engine) -> Startable:
    """The version that leaves everything to a run's parameters, made when it is first needed."""
    flow_id = str(uuid5(_IDS, own_name(engine.home, NAME)))
    version_id = str(uuid5(_IDS, own_name(engine.home, f"{NAME}:1")))
    now = engine.store.now()
    flow = Flow(
        id=flow_id,
        name=NAME,
        description="Plans for goals: planned, worked on, verified, planned anew",
        created_at=now,
        tenant=engine.home,
    )
    version = Version(
        id=version_id, flow_id=flow_id, number=1, dialect="plan", source="{}", created_at=now
    )
    if engine.graphs.get(version_id) is None and not await _is_there(engine, version_id):
        try:
            await engine.write(flow, version)
        except (Unavailable, Conflict):
            # Somebody else's first plan may have made it in this very moment.
            if not await _is_there(engine, version_id):
                raise
    return target_of(flow, version)


async def _is_there(engine: Engine, version_id: str) -> bool:
    async with engine.store.session() as session:
        return bool(await session.rows(Version, [version_id]))
