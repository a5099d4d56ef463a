"""Who sees pods and says so: late, twice, in any order, of pods of older attempts and of strangers.

What must not count is known here before it is said: it is then an error if it does.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine import facts
from windlass.kube.facts import envelope, event_id
from windlass.kube.interpret import observe
from windlass.kube.pods import Pod
from windlass.model.errors import StaleLease, Unavailable
from windlass.model.ids import attempt_id
from windlass.model.pods import FactOutcome, read_ref
from windlass.model.rows import Attempt, Json
from windlass.model.states import ATTEMPT_LIVE, AttemptState
from windlass.protocol.pod_facts import Envelope
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import Broken
from windlass.testing.simulator.cluster import DEADLINES, Cluster
from windlass.testing.simulator.network import Network
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.server import Server

_TRIES_MAX = 40
_STRANGER = "a-stranger"


class Witness:
    """A collector, and the programs in pods: both speak to whichever server answers."""

    def __init__(
        self,
        plan: Plan,
        database: MemoryDatabase,
        network: Network,
        servers: list[Server],
        cluster: Cluster,
        reported: dict[str, Json],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._rng: random.Random = plan.rng("witness")
        self._db = database
        self._network = network
        self._servers = servers
        self._cluster = cluster
        self._reported = reported
        self._fail = fail
        self._said: list[Envelope] = []
        cluster.watchers.append(self.saw)
        cluster.hand_in = self.hand_in

    def saw(self, pod: Pod) -> None:
        now = self._cluster.now()
        seen = observe(pod, now, DEADLINES)
        if seen is not None:
            told = envelope(pod, seen, event_id(pod, seen), now)
            self._cluster.spawn(self._tell(told))

    async def _tell(self, told: Envelope) -> None:
        rng, calm = self._rng, self._cluster.calm
        self._said.append(told)
        late_s = 0.02 if calm else rng.choice((0.01, 0.05, 0.5, 4.0, 15.0)) * rng.random()
        await asyncio.sleep(late_s)
        for _ in range(2 if rng.random() < 0.3 else 1):
            await self._state(told)
        if calm:
            return
        if rng.random() < 0.3:
            await self._state(rng.choice(self._said[-40:]))
        if rng.random() < 0.2:
            await self._state(self._of_stranger(rng.choice(self._said[-10:])))
        if rng.random() < 0.2:
            # By the name of its pod alone, as somebody says it who knows nothing of attempts.
            named = replace(told.data, task_id="task", attempt=None)
            await self._state(replace(told, data=named))

    def _of_stranger(self, told: Envelope) -> Envelope:
        """The same of a pod that happens to have this name, once the real one is known."""
        row = self._attempt(told)
        if row is None or not row.external_ref or not read_ref(row.external_ref).uid:
            return told
        return replace(told, data=replace(told.data, pod_uid=_STRANGER))

    def _attempt(self, told: Envelope) -> Attempt | None:
        if told.data.attempt is None:
            return None
        key = attempt_id(told.data.task_id, told.data.attempt)
        return self._db.table(Attempt).get(key)

    async def _state(self, told: Envelope) -> None:
        for _ in range(_TRIES_MAX):
            row = self._attempt(told)
            over = row is not None and row.state not in ATTEMPT_LIVE
            strange = told.data.pod_uid == _STRANGER
            try:
                [outcome] = await self._ask(lambda server: facts.state_all(server.engine, [told]))
            except Unavailable:
                await asyncio.sleep(0.3)
                continue
            if outcome is FactOutcome.ACCEPTED and (over or strange):
                state = row.state if row is not None else "unknown"
                self._fail(Broken(f"{told.data.reason} of {state} attempt {told.data} has counted"))
            return

    async def _ask(self, serve: Callable[[Server], Awaitable[Any]]) -> Any:
        server = self._rng.choice(self._servers)
        return await self._network.call("cluster", server, lambda: serve(server), 4.0)

    # The program in a pod

    async def hand_in(self, attempt: str, sdk: bool) -> None:
        """End well; with a result where it is the program that gives it."""
        if not sdk:
            self._reported[attempt] = '{"exit_code":0}'
            return
        action = "default" if self._cluster.calm else self._rng.choice(("default", "again", "alt"))
        value = {"v": attempt, "action": action, "act": action}
        output = self._reported[attempt] = msgspec.json.encode(value).decode()
        for _ in range(_TRIES_MAX):
            try:
                await self._ask(lambda server: server.attempts.succeeded(attempt, output))
            except Unavailable:
                await asyncio.sleep(0.3)
            except StaleLease:
                return
            else:
                row = self._db.table(Attempt)[attempt]
                if row.state is not AttemptState.SUCCEEDED and row.output is None:
                    self._fail(Broken(f"{attempt} was told that it counts and is {row.state}"))
                return
