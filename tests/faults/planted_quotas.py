"""Faults of quotas: places of runs that leak, runs that pass by the line, or that nobody begins."""

from collections.abc import Mapping

from tests.faults.planted import Patch, fault
from windlass.engine.limits import gate
from windlass.engine.limits.rules import Rules
from windlass.kernel import ending
from windlass.kernel.turn import Turn
from windlass.model.limits import Limit
from windlass.model.quotas import QueuedRun
from windlass.model.rows import Run
from windlass.ports.store import Store


@fault("a run that has ended keeps its place")
def place_of_a_run_leaks(patch: Patch) -> None:
    def give_place_back(turn: Turn, run: Run) -> None:
        if run.started_at is None:
            turn.remove(QueuedRun, run.id)

    patch.setattr(ending, "give_place_back", give_place_back)


@fault("a run is let begin by its tenant's quota alone")
def project_is_not_asked(patch: Patch) -> None:
    right = Rules.of_run

    def of_run(self: Rules, queued: QueuedRun) -> dict[str, Limit]:
        return dict(list(right(self, queued).items())[:1])

    patch.setattr(Rules, "of_run", of_run)


@fault("nobody looks for runs that wait to begin")
def no_run_is_woken(patch: Patch) -> None:
    async def runs_to_wake(
        self: gate.Gate, store: Store, probes: Mapping[str, bool]
    ) -> list[QueuedRun]:
        return []

    patch.setattr(gate.Gate, "runs_to_wake", runs_to_wake)


@fault("a run that is cancelled while it waits stays in the line")
def cancelled_stays_in_line(patch: Patch) -> None:
    def give_place_back(turn: Turn, run: Run) -> None:
        if run.started_at is not None:
            turn.settled.append(run)

    patch.setattr(ending, "give_place_back", give_place_back)
