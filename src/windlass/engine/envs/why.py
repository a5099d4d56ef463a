"""Why a task waits for its environment."""

from windlass.engine.engine import Engine
from windlass.engine.limits.why import ahead
from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, env_key
from windlass.model.limits import LimitUse, key_of
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.model.rows import Task
from windlass.ports.store import Cond

_PATIENCE_MS = 2_000


async def env_reason(engine: Engine, task: Task) -> Reason:
    """How many there are, and how many come first."""
    assert task.parked is not None
    name = key_of(task.parked).removeprefix(env_key(""))
    resource = engine.advance.limiting.rules.envs.get(task.parked)
    if resource is None:
        return Reason(ReasonCode.ENV_UNKNOWN, ReasonValues(env=name))
    if resource.status != "active":
        return Reason(ReasonCode.ENV_CLOSED, ReasonValues(env=name, state=str(resource.status)))
    async with engine.system.store.session() as session:
        found = await session.rows(LimitUse, [task.parked])
    values = ReasonValues(
        env=name,
        used=str(found[0].in_use if found else 0),
        most=str(resource.capacity),
        ahead=await ahead(engine, task),
    )
    return Reason(ReasonCode.ENV_QUEUE, values)


async def allocating_reason(engine: Engine, task: Task) -> Reason:
    """Since when its place is made, and what is in the way."""
    async with engine.store.session() as session:
        found = await session.rows(EnvSession, [task.env])
    if not found:
        return Reason(ReasonCode.ENV_MAKING)
    row = found[0]
    own = [Cond("id", ">=", f"{row.id}!"), Cond("id", "<", f"{row.id}\x7f")]
    effects = await engine.store.page(Effect, [Cond("run_id", "=", task.run_id), *own], limit=5)
    said = next((effect.error for effect in effects if effect.error), "")
    values = ReasonValues(env=row.resource, kind=row.kind, since=row.created_at, message=said or "")
    long_ago = engine.store.now() - row.created_at > _PATIENCE_MS
    nobody = all(not effect.holder for effect in effects) and long_ago
    return Reason(ReasonCode.ENV_NO_HOST if nobody and not said else ReasonCode.ENV_MAKING, values)
