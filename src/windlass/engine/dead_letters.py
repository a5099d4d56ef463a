"""Dead letters: found by filter, replayed, or dropped.

Replaying a task is a retry of it, replaying an effect puts it back. Either removes the letter in
its own commit, so what is replayed twice at the same time is done once. Dropping removes the letter
and, with an effect's, the effect; a task stays failed, and nobody is told of it any more.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.jobs import Outdated
from windlass.kernel.events import RetryRequested
from windlass.model.dead_letters import EFFECT, KINDS, TASK, DeadLetter
from windlass.model.effects import Effect
from windlass.model.errors import BadRequest, Conflict, NotFound, WindlassError
from windlass.model.ids import scope_of
from windlass.model.rows import Attempt, Row, Run, Task, read_failure
from windlass.model.states import RUN_ENDED
from windlass.ports.store import Cond

_RUNS_AT_ONCE = 16
_HISTORY_MAX = 100
Noting = Callable[[DeadLetter], Row]
"""Makes the line that says who replayed a letter."""


class Filter(msgspec.Struct, frozen=True):
    """Which letters are meant; what is empty says nothing."""

    kind: str = ""
    run: str = ""
    flow: str = ""
    name: str = ""
    failure_class: str = ""
    before: int | None = None

    def conditions(self) -> list[Cond]:
        if self.kind and self.kind not in KINDS:
            raise BadRequest(f'no dead letters are of kind "{self.kind}"; there are task, effect')
        columns = {
            "kind": self.kind,
            "run_id": self.run,
            "flow_name": self.flow,
            "name": self.name,
            "failure_class": self.failure_class,
        }
        where = [Cond(column, "=", value) for column, value in columns.items() if value]
        return where if self.before is None else [*where, Cond("died_at", "<=", self.before)]


class Refused(msgspec.Struct, frozen=True):
    """A letter that could not be replayed, and why."""

    id: str
    reason: str


class Line(msgspec.Struct, frozen=True):
    """One try of what has died."""

    number: int
    at: int
    by: str
    failure_class: str
    message: str


class NextMove(msgspec.Struct, frozen=True):
    """What somebody can do: a word for programs, and a line for people."""

    code: str
    text: str


async def get_letter(engine: Engine, letter_id: str) -> DeadLetter:
    async with engine.store.session() as session:
        found = await session.rows(DeadLetter, [letter_id])
    if not found:
        raise NotFound(f'no dead letter "{letter_id}"; it may have been replayed or dropped')
    return found[0]


async def history(engine: Engine, letter: DeadLetter) -> list[Line]:
    """The last tries, oldest first; of an effect only the last is kept."""
    if letter.kind == EFFECT:
        return [Line(letter.tries, letter.died_at, "", letter.failure_class, letter.message)]
    where = [Cond("id", ">", letter.id + "@"), Cond("id", "<", letter.id + "A")]
    rows = await engine.store.page(
        Attempt, where, order="number", descending=True, limit=_HISTORY_MAX, heavy=False
    )
    return [attempt_line(row) for row in reversed(rows)]


def attempt_line(attempt: Attempt) -> Line:
    failure = read_failure(attempt.error)
    at = attempt.finished_at or attempt.claimed_at
    if failure is None:
        return Line(attempt.number, at, attempt.worker_id, str(attempt.state), "")
    class_ = failure.code or failure.kind
    return Line(attempt.number, at, attempt.worker_id, class_, failure.message)


async def next_move(engine: Engine, letter: DeadLetter) -> NextMove:
    if letter.kind == EFFECT:
        return NextMove("replay", "replay it once whoever it is addressed to can do it")
    async with engine.store.session() as session:
        runs = await session.rows(Run, [letter.run_id])
        tasks = await session.rows(Task, [letter.id])
    if not runs or not tasks:
        return NextMove("drop", "its run is gone: drop it")
    if runs[0].state not in RUN_ENDED:
        text = f"its run went on and is {runs[0].state}: replay it once that has ended"
        return NextMove("wait", f"{text}, or now with all that came after it")
    failure = read_failure(tasks[0].error)
    if failure is not None and failure.kind == "fatal":
        return NextMove("mend", "as it stands it fails again: mend what it says, then replay it")
    return NextMove("replay", "replay it once its cause is gone")


# Replaying


async def replay(
    engine: Engine, letters: Sequence[DeadLetter], noting: Noting, *, descendants: bool = False
) -> list[Refused]:
    """Take up again what is dead; returns what could not be."""
    by_run: defaultdict[str, list[DeadLetter]] = defaultdict(list)
    refused: list[Refused] = []
    for letter in letters:
        if letter.kind == TASK:
            by_run[letter.run_id].append(letter)
            continue
        try:
            await replay_effect(engine, letter, noting(letter))
        except WindlassError as error:
            refused.append(Refused(letter.id, str(error)))
    room = asyncio.Semaphore(_RUNS_AT_ONCE)

    async def one(some: list[DeadLetter]) -> list[Refused]:
        async with room:
            return await replay_tasks(engine, some, noting, descendants=descendants)

    found = await asyncio.gather(*(one(some) for some in by_run.values()))
    return refused + [letter for some in found for letter in some]


async def replay_tasks(
    engine: Engine, letters: Sequence[DeadLetter], noting: Noting, *, descendants: bool
) -> list[Refused]:
    """Retry tasks of one run. Where one retry takes others along they are done with it."""
    refused: list[Refused] = []
    left = list(letters)
    while left:
        letter, *left = left
        scope = scope_of(letter.id)
        also = tuple(other.id for other in left if scope_of(other.id) == scope)
        event = RetryRequested(letter.run_id, letter.id, descendants, also)
        try:
            await engine.submit(event, noting(letter))
        except WindlassError as error:
            refused.append(Refused(letter.id, str(error)))
            continue
        async with engine.store.session() as session:
            left = await session.rows(DeadLetter, [other.id for other in left])
    return refused


async def replay_effect(engine: Engine, letter: DeadLetter, noted: Row) -> None:
    effect = await effect_of(engine, letter)
    if effect is None:
        await engine.write(removed={DeadLetter: {letter.id}})
        raise NotFound("what was to be done is gone")
    fresh = replace(effect, state="waiting", tries=0, due_at=engine.store.now())
    try:
        await engine.write(
            noted, changed=(fresh,), stands=(effect,), removed={DeadLetter: {letter.id}}
        )
    except Outdated as error:
        raise Conflict("somebody else has just taken it up") from error


async def effect_of(engine: Engine, letter: DeadLetter) -> Effect | None:
    """What a letter of the caller's is about; an effect itself says nobody's name."""
    async with engine.system.store.session() as session:
        found = await session.rows(Effect, [letter.id])
    return found[0] if found and found[0].state == "dead" else None


async def drop(engine: Engine, letters: Sequence[DeadLetter], noted: Row) -> None:
    """Let nobody hear of these any more."""
    removed: dict[type[Row], set[Any]] = {DeadLetter: {letter.id for letter in letters}}
    effects = [letter for letter in letters if letter.kind == EFFECT]
    rows = [await effect_of(engine, letter) for letter in effects]
    removed[Effect] = {row.id for row in rows if row is not None}
    await engine.write(noted, removed=removed)
