"""A plan as a patch of the run's graph: only what differs from the plan before is touched."""

from collections.abc import Collection

from windlass.kernel.planning.settings import PlanSettings
from windlass.model.graph import (
    Activation,
    Edge,
    Graph,
    Kind,
    Node,
    Planned,
    Ref,
    Retry,
    Root,
    pod_target,
)
from windlass.model.ids import node_path
from windlass.model.patches import Patch
from windlass.model.plans import JOIN, OnFailure, Plan, PlanTask, env_need
from windlass.model.rows import Json
from windlass.model.verification import profile_target

_BACKOFF_FACTOR = 2.0
_BACKOFF_MS_MAX = 3_600_000
_JITTER = 0.2


def patch_of(
    graph: Graph,
    path: str,
    plan: Plan,
    settings: PlanSettings,
    undone: Collection[str],
    *,
    anew: bool,
    reason: str,
    author: str,
    text: Json,
) -> Patch:
    """What turns the plan that stands under `path` into this one. Tasks whose definition, and that
    of everything they depend on, is as it was are kept; `undone` ones of them are done again. When
    a visit plans `anew` what stands there is of a visit before: a node is kept only if it is the
    very same, whoever does its tasks included."""
    digests = plan.digests
    around = graph.nodes[path]
    before = {node.key: node for node in tasks_of(graph, path)}
    kept = {
        alias
        for alias, node in before.items()
        if node.planned is not None and node.planned.digest == digests.get(alias)
    }
    if anew and kept:
        again = [task for task in plan.tasks if task.alias in kept]
        nodes = [node_of(around, task, settings, digests[task.alias]) for task in again]
        kept = {node.key for node in nodes if before[node.key] == node}
        # An edge goes with its source, so what depends on a node that goes is put in again too.
        while gone := {t.alias for t in again if t.alias in kept and {*t.depends_on} - kept}:
            kept -= gone
    fresh = [task for task in plan.tasks if task.alias not in kept]
    return Patch(
        nodes=tuple(node_of(around, task, settings, digests[task.alias]) for task in fresh),
        edges=tuple(
            Edge(node_path(path, need), "default", node_path(path, task.alias))
            for task in fresh
            for need in sorted(set(task.depends_on))
        ),
        drop=tuple(node.path for alias, node in before.items() if alias not in kept),
        redo=tuple(before[alias].path for alias in sorted(kept & set(undone))),
        reason=reason,
        author=author,
        scope=path,
        plan=text,
    )


def tasks_of(graph: Graph, path: str) -> list[Node]:
    """The nodes of the plan that stands under a path."""
    inside = f"{path}/"
    return [
        graph.nodes[name]
        for name in graph.joins
        if name.startswith(inside) and "/" not in name[len(inside) :]
    ]


def node_of(around: Node, task: PlanTask, settings: PlanSettings, digest: str) -> Node:
    """A task of a plan as a node inside the plan's own, which may say something for all of them."""
    profile = task.worker_profile or (JOIN if task.kind == "join" else settings.worker)
    pod = settings.profiles.get(profile)
    on_failure = task.on_failure or settings.on_failure
    env = env_need(task.env)
    return Node(
        path=node_path(around.path, task.alias),
        kind=Kind.CALL,
        activation=Activation.ALL,
        fires_all=True,
        target=profile_target(profile) if pod is None else pod_target(pod),
        input=Ref(Root.LITERAL, literal=task.inputs),
        retry=Retry(
            retries_max=task.attempts_max - 1,
            wait_ms=task.backoff_ms,
            factor=_BACKOFF_FACTOR,
            wait_ms_max=_BACKOFF_MS_MAX,
            jitter=_JITTER,
        ),
        timeout_ms=task.timeout_ms,
        verification=task.verification or around.verification,
        limits=around.limits,
        env=env.resource,
        env_kind=env.kind,
        env_keep_ms=env.keep_ms,
        planned=Planned(
            goal=task.goal,
            digest=digest,
            depends_on=tuple(sorted(set(task.depends_on))),
            role=task.role,
            on_failure=str(on_failure or OnFailure.FAIL_RUN),
            priority=task.priority,
            env=task.env,
            blackboard_scope=task.blackboard_scope,
            pod_profile="" if pod is None else profile,
        ),
    )
