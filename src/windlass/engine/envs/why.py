"""Why a task waits for its environment, in a line."""

from windlass.engine.engine import Engine
from windlass.engine.envs.hosts import advice
from windlass.engine.limits.why import ahead
from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, env_key
from windlass.model.limits import LimitUse, key_of
from windlass.model.rows import Task
from windlass.ports.store import Cond

_PATIENCE_S = 2.0


async def env_line(engine: Engine, task: Task) -> str:
    """How many there are, and how many come first."""
    assert task.parked is not None
    name = key_of(task.parked).removeprefix(env_key(""))
    resource = engine.advance.limiting.rules.envs.get(task.parked)
    if resource is None:
        hint = f"make it with `windlass env create {name} --kind container`"
        return f'waits for env "{name}", which nobody has made; {hint}'
    if resource.status != "active":
        return f'waits for env "{name}", which is {resource.status}'
    async with engine.system.store.session() as session:
        found = await session.rows(LimitUse, [task.parked])
    leased = found[0].in_use if found else 0
    before = await ahead(engine, task)
    return f'waits for env "{name}" ({leased} of {resource.capacity} leased, {before} ahead)'


async def allocating_line(engine: Engine, task: Task) -> str:
    """Since when its place is made, and what is in the way."""
    async with engine.store.session() as session:
        found = await session.rows(EnvSession, [task.env])
    if not found:
        return "waits for its environment"
    row = found[0]
    since = (engine.store.now() - row.created_at) / 1000
    line = f'waits for env "{row.resource}": its {row.kind} is being made for {since:.0f} s'
    own = [Cond("id", ">=", f"{row.id}!"), Cond("id", "<", f"{row.id}\x7f")]
    effects = await engine.store.page(Effect, [Cond("run_id", "=", task.run_id), *own], limit=5)
    said = next((effect.error for effect in effects if effect.error), "")
    if said:
        return f"{line}; {said}"
    nobody = all(not effect.holder for effect in effects) and since > _PATIENCE_S
    if not nobody:
        return line
    return f"{line}; nobody who has such a runtime has taken it: {advice(row.kind)}"
