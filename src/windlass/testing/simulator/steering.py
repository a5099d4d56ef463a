"""People who steer runs that go on: they give hints, ask questions, and do without tasks."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from windlass.engine import steering
from windlass.engine.engine import Engine
from windlass.model.errors import NotFound
from windlass.model.hints import Hint, HintKind
from windlass.model.questions import Question, Request
from windlass.model.rows import Checkpoint, Event, Run, Task
from windlass.model.states import TASK_ENDED
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import Broken
from windlass.testing.simulator.planning import make_plan

Ask = Callable[[Callable[[Any], Awaitable[Any]]], Awaitable[Any]]
Its = Callable[[Any, str], Engine]
"""The engine of a server as whoever has a run sees it."""


class Steering:
    def __init__(self, database: MemoryDatabase, rng: random.Random, ask: Ask, its: Its) -> None:
        self._db = database
        self.rng = rng
        self._ask = ask
        self._its = its

    async def steer(self, run: Run) -> None:
        """Steer that run, or another one that is planned."""
        plans = [row for row in self._db.table(Run).values() if row.dialect == "plan"]
        run = self.rng.choice([run, *plans])
        tasks = [t for t in self._db.of_run(Task, run.id) if t.state not in TASK_ENDED]
        if tasks:
            deed = self.rng.choice((self._cancel, self._question, self._hint))
            await deed(run, self.rng.choice(tasks))

    async def _cancel(self, run: Run, task: Task) -> None:
        task_id = task.id
        if self.rng.random() < 0.3:
            # One whose turn may not have come, or that nobody has heard of.
            task_id = f"{task.scope}~t{self.rng.randrange(6)}.0"
        try:
            await self._ask(lambda server: steering.cancel_task(self._its(server, run.id), task_id))
        except NotFound:
            if task_id in self._db.table(Task):
                raise
            return
        self._expect(run, "task.cancel_requested")

    async def _question(self, run: Run, task: Task) -> None:
        request = Request("Go on?", Question(blocks_run=self.rng.random() < 0.5))
        asked = await self._ask(
            lambda server: steering.ask(self._its(server, run.id), task.id, request, by="p")
        )
        if asked not in self._db.table(Checkpoint):
            raise Broken(f"checkpoint {asked} was acknowledged and is not there")

    async def _hint(self, run: Run, task: Task) -> None:
        kind = self.rng.choice(list(HintKind))
        brought = kind is HintKind.REPLAN_REQUEST and self.rng.random() < 0.6
        details = {"replacement_plan": make_plan(self.rng)} if brought else {"more": 1}
        about = "" if kind is HintKind.CONTEXT_UPDATE or self.rng.random() < 0.5 else task.id
        given = Hint(kind, "so", details, about)
        await self._ask(lambda server: steering.hint(self._its(server, run.id), run.id, given))
        self._expect(run, "hint.given")

    def _expect(self, run: Run, type_: str) -> None:
        if not any(event.type == type_ for event in self._db.of_run(Event, run.id)):
            raise Broken(f"{type_} of run {run.id} was acknowledged and is not in its history")
