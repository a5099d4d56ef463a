"""Faults of pods: made twice, left behind, heard wrongly, or counted against the task."""

from msgspec.structs import replace

from tests.faults.planted import Patch, fault
from windlass.drivers.dispatch import pod_manifest
from windlass.drivers.dispatch.pod_events import Waiting
from windlass.drivers.dispatch.pod_sync import PodSync, _gone
from windlass.kernel import pods
from windlass.kernel.decision import Decision
from windlass.kernel.events import PodObserved
from windlass.kernel.finish import finish
from windlass.kernel.nodes import call
from windlass.kernel.turn import Turn
from windlass.kube.pods import Pod
from windlass.model.pods import FactOutcome, PodReason, PodStatus
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import ATTEMPT_LIVE, TaskState
from windlass.ports.pods import Detached, PodTask

NEEDS = ["pods"]


@fault("what a pod of the same name says counts, whoever made it", needs=NEEDS)
def pod_uid_ignored(patch: Patch) -> None:
    right = pods.observed

    def observed(turn: Turn, event: PodObserved) -> Decision:
        return right(turn, PodObserved(event.attempt_id, replace(event.seen, uid="")))

    patch.setattr(pods, "observed", observed)


@fault("a pod has another name each time it is made", needs=NEEDS)
def pod_name_varies(patch: Patch) -> None:
    right, times = pod_manifest.pod_name, iter(range(1_000_000))

    def pod_name(task: PodTask) -> str:
        return f"{right(task)[:50]}-{next(times)}"

    patch.setattr(pod_manifest, "pod_name", pod_name)


@fault("the pod of an attempt that has ended is left where it is", needs=NEEDS)
def pod_left_behind(patch: Patch) -> None:
    async def sweep(self: PodSync, pods: list[Pod]) -> None:
        return

    patch.setattr(PodSync, "_sweep", sweep)
    patch.setattr(PodSync, "ended", lambda self, attempt, ref: None)


@fault("an eviction counts against the task", needs=NEEDS)
def pod_eviction_counts(patch: Patch) -> None:
    def move(turn: Turn, task: Task, attempt: Attempt, failure: Failure, pause: int) -> None:
        if call.end_attempt(turn, task, attempt, failure):
            call.try_again(turn, task, turn.node(task), attempt, failure)

    patch.setattr(pods, "_move", move)


@fault("a failure that is said twice costs two retries", needs=NEEDS)
def pod_heard_twice(patch: Patch) -> None:
    right = pods.observed

    def observed(turn: Turn, event: PodObserved) -> Decision:
        attempt = turn.get(Attempt, event.attempt_id)
        if attempt is None or attempt.state in ATTEMPT_LIVE or not attempt.external_ref:
            return right(turn, event)
        task = turn.task(attempt.task_id)
        again = task.state in (TaskState.WAITING, TaskState.QUEUED)
        if event.seen.status is not PodStatus.FAILED or not again:
            return right(turn, event)
        turn.move(task, task.state, failures=task.failures + 1)
        return finish(turn, "attempt.failed", task.id, FactOutcome.ACCEPTED)

    patch.setattr(pods, "observed", observed)


@fault("an attempt whose pod was never made is taken for one whose pod is lost", needs=NEEDS)
def pod_never_made(patch: Patch) -> None:
    async def missing(self: PodSync, found: Detached, waits: dict[str, Waiting]) -> None:
        await self._work.observe(found.attempt_id, _gone(found, PodReason.NODE_LOST))

    patch.setattr(PodSync, "_missing", missing)


@fault("pods are listed before attempts are read, so that one just made looks lost", needs=NEEDS)
def pods_listed_first(patch: Patch) -> None:
    async def run_once(self: PodSync) -> int:
        self._wake.clear()
        there = {
            f"{pod.metadata.namespace}/{pod.metadata.name}": pod
            for pod in await self._launcher.all_pods()
        }
        live = await self._work.detached()
        await self._each(self._look(found, there.pop(found.pod, None), {}) for found in live)
        await self._sweep(list(there.values()))
        return 0

    patch.setattr(PodSync, "run_once", run_once)
