"""Attempts that are pods: one pod each, one end each, and that one what its pod really came to."""

from collections import defaultdict
from collections.abc import Container, Mapping
from typing import cast

from msgspec.structs import replace

from windlass.model.pods import PodClass, PodStatus, read_ref
from windlass.model.rows import Attempt, Task, read_failure
from windlass.model.states import ATTEMPT_LIVE, AttemptState
from windlass.testing.memory import Commit
from windlass.testing.simulator.checks.rows import expect

MOVED = frozenset({PodClass.EVICTION, PodClass.CAPACITY, PodClass.NODE_LOST})
"""Classes that do not count against the task."""


class PodChecks:
    """Compares what is stored with what a cluster knows of its pods."""

    def __init__(self, truths: Mapping[str, set[str]], refused: Container[str]) -> None:
        self._truths = truths
        self._refused = refused

    def check(self, commit: Commit) -> None:
        ended: defaultdict[str, list[Attempt]] = defaultdict(list)
        for table, _, old, new in commit.changes:
            if table is not Attempt or new is None:
                continue
            before, after = cast("Attempt | None", old), cast(Attempt, new)
            # One whose failure came late, for an attempt that is lost in this very commit, is made
            # and has ended at once.
            lived = before is None or before.state in ATTEMPT_LIVE
            if lived and after.state not in ATTEMPT_LIVE:
                ended[after.task_id].append(after)
            if before is not None and after.external_ref:
                self._check_pod(before, after)
        for table, _, old, new in commit.changes:
            if table is Task and old is not None and new is not None and ended[cast(Task, new).id]:
                check_counted(cast(Task, old), cast(Task, new), ended[cast(Task, new).id])

    def _check_pod(self, before: Attempt, after: Attempt) -> None:
        mine = after.id
        # What a program says too late is kept with the attempt that was lost.
        said = replace(before, output=after.output) == after
        lives = before.state in ATTEMPT_LIVE or (said and before.state is AttemptState.LOST)
        expect(lives, f"{mine} had ended, and something was changed about it")
        assert after.external_ref is not None
        ref = read_ref(after.external_ref)
        if before.external_ref:
            was = read_ref(before.external_ref)
            same = was.pod == ref.pod and was.uid in ("", ref.uid)
            expect(same, f"{mine} was pod {before.external_ref} and is {after.external_ref}")
        known = not ref.uid or ref.uid in self._truths
        expect(known, f"{mine} is pod {after.external_ref}, which was never made")
        if after.state in ATTEMPT_LIVE:
            return
        truths = self._truths.get(ref.uid or ref.pod, set())
        if after.state is AttemptState.SUCCEEDED:
            ran = truths & {PodStatus.SUCCEEDED, PodStatus.RUNNING}
            expect(bool(ran), f"{mine} has succeeded, its pod was {sorted(truths)}")
            return
        failure = read_failure(after.error)
        code = failure.code if failure is not None else ""
        if code in set(PodClass):
            unmade = not ref.uid and (ref.pod in self._refused or code == PodClass.DELETED)
            silent = code == PodClass.ERROR and PodStatus.SUCCEEDED in truths
            right = code in truths or unmade or silent
            expect(right, f"{mine} ended as {code}, its pod was {sorted(truths)}")


def check_counted(old: Task, new: Task, ended: list[Attempt]) -> None:
    """An end counts once, and against the task only if its class does."""
    failures, moves = new.failures - old.failures, new.moves - old.moves
    if failures < 0 or moves < 0:
        return  # it was begun afresh
    most = len(ended)
    expect(failures + moves <= most, f"{new.id} counts {failures + moves} tries, {most} has ended")
    found = [read_failure(attempt.error) for attempt in ended if attempt.external_ref]
    moved = [failure for failure in found if failure is not None and failure.code in MOVED]
    expect(
        failures <= most - len(moved),
        f"{new.id} counts {failures} failures, of those that ended {len(moved)} do not count",
    )
