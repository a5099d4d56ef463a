"""Attempts that do things outside, and people who allow what cannot be undone: some of the attempts
have lost their task by then, some tokens were used before or are another's."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from windlass.engine import blackboard, ledger
from windlass.engine.engine import Engine
from windlass.model.blackboard import BoardEntry, task_key
from windlass.model.errors import Denied, StaleLease
from windlass.model.ledger import Action, ActionState, Approval, EffectClass, approval_named
from windlass.model.rows import Attempt, Run
from windlass.model.states import ATTEMPT_LIVE
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import Broken

Ask = Callable[[Callable[[Any], Awaitable[Any]]], Awaitable[Any]]
Its = Callable[[Any, str], Engine]
_EXPIRES_S = (0.2, 0.2, 60.0)


class Acting:
    def __init__(self, database: MemoryDatabase, rng: random.Random, ask: Ask, its: Its) -> None:
        self._db = database
        self.rng = rng
        self._ask = ask
        self._its = its
        self._given: list[ledger.Given] = []
        """The newest approvals, used or not."""

    async def act(self, run: Run) -> None:
        """Let an attempt of some run do something, or a person allow it something."""
        run = self.rng.choice(list(self._db.table(Run).values()))
        attempts = list(self._db.of_run(Attempt, run.id))
        if not attempts:
            return
        attempt = self.rng.choice(attempts[-3:])
        deed = self.rng.choice((self._begin, self._begin, self._end, self._approve, self._write))
        try:
            await deed(run, attempt)
        except (Denied, StaleLease):
            return

    async def _begin(self, run: Run, attempt: Attempt) -> None:
        call_id = str(self.rng.randrange(6))
        effect = self.rng.choice((EffectClass.EXTERNAL_WRITE, EffectClass.IRREVERSIBLE))
        token = ""
        if self._given and self.rng.random() < 0.8:
            given = self.rng.choice(self._given)
            effect, token = EffectClass.IRREVERSIBLE, given.token
            meant = self._db.table(Attempt).get(given.approval.attempt_id)
            if meant is not None and self.rng.random() < 0.6:
                attempt, run = meant, self._db.table(Run)[meant.run_id]
        await self._ask(
            lambda server: ledger.begin(
                self._its(server, run.id), attempt.id, call_id, "tool", effect, token=token
            )
        )
        begun = self._db.table(Action).get(f"{attempt.id}!{call_id}")
        if begun is None:
            raise Broken(f"action {call_id} of {attempt.id} was acknowledged and is not there")
        # One that was begun before by another token says nothing about this one.
        if effect is EffectClass.IRREVERSIBLE and begun.approval_id == approval_named(token):
            await self._once_more(run, attempt, token)

    async def _once_more(self, run: Run, attempt: Attempt, token: str) -> None:
        """Try a token that was used, or is another's; whoever is refused hears `Denied`."""
        answer = await self._ask(
            lambda server: ledger.begin(
                self._its(server, run.id),
                attempt.id,
                "more",
                "tool",
                EffectClass.IRREVERSIBLE,
                token=token,
            )
        )
        if answer == "accepted":
            raise Broken(f"an approval that {attempt.id} may not use has counted")

    async def _end(self, run: Run, attempt: Attempt) -> None:
        begun = [row for row in self._db.of_run(Action, run.id) if row.attempt_id == attempt.id]
        if begun:
            action = self.rng.choice(begun)
            state = self.rng.choice((ActionState.COMPLETED, ActionState.FAILED))
            await self._ask(
                lambda server: ledger.end(
                    self._its(server, run.id), attempt.id, action.call_id, state
                )
            )

    async def _write(self, run: Run, attempt: Attempt) -> None:
        key = task_key(attempt.task_id, f"progress.{self.rng.randrange(3)}")
        seen = self._db.table(BoardEntry).get(key)
        expected = self.rng.choice((None, 0 if seen is None else seen.revision))
        revision = await self._ask(
            lambda server: blackboard.write(
                self._its(server, run.id), attempt.id, key, "x", expected
            )
        )
        there = self._db.table(BoardEntry).get(key)
        if there is None or there.revision < revision:
            raise Broken(f"{key} was written at {revision} and is {there}")

    async def _approve(self, run: Run, attempt: Attempt) -> None:
        expires_s = self.rng.choice(_EXPIRES_S)
        given = await self._ask(
            lambda server: ledger.approve(
                self._its(server, run.id),
                attempt.task_id,
                EffectClass.IRREVERSIBLE,
                "right",
                expires_in_s=expires_s,
            )
        )
        if given.approval.id not in self._db.table(Approval):
            raise Broken(f"approval {given.approval.id} was acknowledged and is not there")
        self._given = [*self._given[-2:], given]
        others = [row for row in self._db.of_run(Attempt, run.id) if row.state in ATTEMPT_LIVE]
        others = [row for row in others if row.id != given.approval.attempt_id]
        if others:
            await self._once_more(run, self.rng.choice(others), given.token)
