"""Faults of environments: places that leak, are had twice, or by nobody who may."""

from msgspec.structs import replace

from tests.faults.planted import Patch, fault
from windlass.engine.envs import follow, sweep
from windlass.engine.limits import rules
from windlass.kernel import envs, verifying
from windlass.kernel.events import EnvAllocated
from windlass.kernel.turn import Turn
from windlass.model.effects import Effect
from windlass.model.envs import EnvSession, EnvSnapshot, EnvState
from windlass.model.limits import Limit
from windlass.model.rows import Attempt, Task

NEEDS = ["placed"]


@fault("the place of a task that has ended is kept for ever", needs=NEEDS)
def env_never_given_back(patch: Patch) -> None:
    def give_back(turn: Turn, session: EnvSession, reason: str) -> None:
        turn.drop_timer(session.task_id, envs.TIMER)

    patch.setattr(envs, "give_back", give_back)


@fault("more places are made than a resource has", needs=NEEDS)
def env_capacity_ignored(patch: Patch) -> None:
    right = rules.Rules._capacity

    def capacity(self: rules.Rules, tenant: str, place: Limit) -> Limit:
        allowed = right(self, tenant, place)
        return replace(allowed, max=1_000) if allowed.max else allowed

    patch.setattr(rules.Rules, "_capacity", capacity)


@fault("room is given back before the place is gone", needs=NEEDS)
def env_settled_early(patch: Patch) -> None:
    right = envs.give_back

    def give_back(turn: Turn, session: EnvSession, reason: str) -> None:
        right(turn, session, reason)
        turn.settled.append(session)

    patch.setattr(envs, "give_back", give_back)


@fault("the next attempt goes on in a place under the old epoch", needs=[*NEEDS, "planned"])
def env_epoch_stays(patch: Patch) -> None:
    right = envs.bind

    def bind(turn: Turn, task: Task, attempt: Attempt) -> EnvSession | None:
        bound = right(turn, task, attempt)
        if bound is not None and bound.epoch > 1:
            bound = replace(bound, epoch=1)
            turn.change(bound)
        return bound

    patch.setattr(envs, "bind", bind)


@fault("work is handed out while its place is still being made", needs=NEEDS)
def env_not_waited_for(patch: Patch) -> None:
    right = envs.reserve

    def reserve(turn: Turn, task: Task, by: object) -> EnvSession:
        session = right(turn, task, by)  # type: ignore[arg-type]
        turn.move(turn.task(task.id), task.state)
        return session

    patch.setattr(envs, "reserve", reserve)
    patch.setattr(envs, "_follow", lambda turn, task, session: None)


@fault("whoever is cut off while it makes a place leaves it to nobody", first=210, needs=NEEDS)
def env_unwanted_places_stay(patch: Patch) -> None:
    patch.setattr(sweep, "is_unwanted", lambda session, host: False)

    async def allocate(self: follow.Follower, effect: Effect) -> None:
        session = await self._session(effect)
        picked = self._hosts.pick(session.kind) if session is not None else None
        if session is None or picked is None or session.state is not EnvState.RESERVED:
            return
        host, backend = picked
        await backend.allocate(await self.spec_of(session))
        await self._engine.submit(EnvAllocated(session.id, host))

    patch.setattr(follow.Follower, "allocate", allocate)


@fault("a place that was asked for is held for a task that went on without it", needs=NEEDS)
def env_of_ended_task(patch: Patch) -> None:
    right = envs.follow

    def follow_some(turn: Turn) -> None:
        turn.with_env = {key for key in turn.with_env if turn.task(key).attempts}
        right(turn)

    patch.setattr(envs, "follow", follow_some)


@fault("a verdict is asked for before anybody knows what changed in the place", needs=NEEDS)
def env_judged_unseen(patch: Patch) -> None:
    patch.setattr(verifying, "has_place", lambda turn, task, attempt: False)


@fault("a claim waits for a look at its place that nobody can take any more", needs=NEEDS)
def env_looked_at_for_ever(patch: Patch) -> None:
    patch.setattr(verifying, "judge_after", lambda turn, task, pause, columns: None)
    patch.setattr(follow.Follower, "_tell", none_told)


async def none_told(self: object, session: EnvSession, taken: list[EnvSnapshot]) -> object:
    return taken
