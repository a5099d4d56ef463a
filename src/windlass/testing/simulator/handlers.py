"""What simulated services do: succeed, fail, hang, choose a way on; and what they said."""

import asyncio
import random
from typing import Any

import msgspec

from windlass.model.rows import Failure, Json
from windlass.model.states import Role
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.planning import answer, planned, resumed
from windlass.testing.simulator.verdicts import judgement

Result = Json | Failure


class Handlers:
    """Every service of a world. `calm` makes them quick and good."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rng: random.Random = plan.rng("handlers")
        self._verdicts: random.Random = plan.rng("verdicts")
        self._plans: random.Random = plan.rng("plans")
        self.calm = False
        self.reported: dict[str, Json] = {}
        """The result each attempt ended with, for comparison with what was accepted."""

    @property
    def _is_planned(self) -> bool:
        return self._plan.has("planned") or self._plan.has("grown")

    async def perform(self, attempt_id: str, role: str = Role.WORK) -> Result:
        """Do one attempt, for as long as it takes."""
        rng = self._rng
        if self.calm:
            await asyncio.sleep(0.01)
            return self._result(attempt_id, "default", role)
        await asyncio.sleep(rng.choice((0.0, 0.02, 0.2, 1.0)) * rng.random())
        if self._plan.has("handler_hangs") and rng.random() < 0.12:
            await asyncio.sleep(rng.uniform(0.2, 2.5) * self._plan.lease_s)
        if self._plan.has("handler_fails") and rng.random() < 0.25:
            pause = rng.choice((None, None, 0, 100))
            return Failure("failed", f"{attempt_id} failed", retry_after_ms=pause)
        if self._plan.has("handler_fatal") and rng.random() < 0.05:
            return Failure("fatal", f"{attempt_id} cannot be done")
        return self._result(attempt_id, rng.choice(("default", "default", "again", "alt")), role)

    def _result(self, attempt_id: str, action: str, role: str) -> Json:
        value: Any = {"v": attempt_id, "action": action, "act": action}
        if self._plan.has("verified") or self._is_planned:
            value["verdict"] = "accepted" if self.calm else judgement(self._verdicts)
        if role == Role.PLAN:
            value = planned(self._plans, calm=self.calm)
        elif self._is_planned and role == Role.WORK:
            first = attempt_id.endswith("@1")
            if not self.calm:
                value = answer(value, self._plans, asks=self._plan.has("placed"))
            elif first and self._plan.has("placed"):
                value = resumed(value, self._plans)
        text = msgspec.json.encode(value).decode()
        self.reported[attempt_id] = text
        return text
