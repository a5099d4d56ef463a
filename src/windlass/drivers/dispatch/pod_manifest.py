"""The pod of an attempt, as Kubernetes is told to make it: pure, and the same every time.

Its name follows from the attempt, so making it twice finds it there. Labels and variables are
FlowForge's; what is too long for a label stands in an annotation of the same name.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from windlass.model.pods import PodSpec, amount_of
from windlass.ports.pods import PodTask
from windlass.protocol import pod_facts

INSTALLATION = "windlass.io/installation"
HAS_CREDENTIAL = "windlass.io/token-secret"
"""The label of a pod that finds its token in a Secret of its own name."""
AUTH_VARIABLE = "FLOWFORGE_AUTH_TOKEN"
_ENTRY = "token"
INPUT_BYTES_MAX = 96 * 1024
"""A variable may have 128 KiB on Linux, its name included."""
_NAME_MAX = 63
_OTHER = re.compile(r"[^a-z0-9]+")
_NOT_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")


def pod_name(task: PodTask) -> str:
    """`ff-<8 of the run>-<node>-<attempt>-<hash>`, with as much of the node as fits."""
    mark = blake2b(task.attempt_id.encode(), digest_size=4).hexdigest()
    head, tail = f"ff-{task.run_id[:8]}", f"{task.number}-{mark}"
    room = _NAME_MAX - len(head) - len(tail) - 2
    node = _OTHER.sub("-", task.node.lower()).strip("-")[:room].strip("-") or "task"
    return f"{head}-{node}-{tail}"


def secret(task: PodTask, installation: str, token: str) -> dict[str, Any]:
    """The Secret with the token of an attempt, under its pod's name."""
    labels = {pod_facts.MANAGED_BY: "flowforge", INSTALLATION: installation}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": pod_name(task), "labels": labels},
        "type": "Opaque",
        "stringData": {_ENTRY: token},
    }


def manifest(
    task: PodTask,
    installation: str,
    endpoints: Mapping[str, str],
    created_at: str,
    *,
    with_secret: bool = False,
) -> dict[str, Any]:
    """What to create; `endpoints` are variables that say where things are. `with_secret` it finds
    its token in a Secret of its name."""
    spec = task.spec
    labels = {
        pod_facts.MANAGED_BY: "flowforge",
        pod_facts.WORKLOAD: "true",
        pod_facts.WORKFLOW_ID: as_label(task.run_id),
        pod_facts.TASK_ID: as_label(task.task_id),
        pod_facts.TASK_NAME: as_label(task.node),
        pod_facts.TENANT_ID: as_label(task.tenant),
        pod_facts.PROJECT_ID: as_label(task.flow_id),
        pod_facts.ATTEMPT: str(task.number),
        INSTALLATION: installation,
    }
    if with_secret:
        labels[HAS_CREDENTIAL] = "true"
    main = {
        "name": pod_facts.MAIN,
        "image": spec.image,
        "command": list(spec.command),
        "args": list(spec.args),
        "env": [*_env(task, endpoints), *([_token_env(task)] if with_secret else [])],
        "resources": _resources(spec, task.oom_count),
    }
    body: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": spec.grace_s,
        "containers": [{name: value for name, value in main.items() if value}],
        "nodeSelector": spec.node_selector,
        "tolerations": list(spec.tolerations),
        "serviceAccountName": spec.service_account,
        "activeDeadlineSeconds": spec.active_deadline_s,
    }
    kept = ("restartPolicy", "terminationGracePeriodSeconds")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(task),
            "labels": labels,
            "annotations": {
                pod_facts.TASK_ID: task.task_id,
                pod_facts.CREATED_AT: created_at,
            },
        },
        "spec": {name: value for name, value in body.items() if value or name in kept},
    }


def as_label(text: str) -> str:
    """A text as a label can hold it: whole where that can be, else its end and a digest."""
    plain = _NOT_LABEL.sub("-", text)
    if plain == text and 0 < len(text) <= _NAME_MAX and text[0].isalnum() and text[-1].isalnum():
        return text
    mark = blake2b(text.encode(), digest_size=6).hexdigest()
    end = plain[-(_NAME_MAX - len(mark) - 1) :].strip("-_.")
    return f"{end}-{mark}" if end else mark


def _env(task: PodTask, endpoints: Mapping[str, str]) -> list[dict[str, Any]]:
    ours = {
        "FLOWFORGE_TASK_ID": task.task_id,
        "FLOWFORGE_WORKFLOW_ID": task.run_id,
        "FLOWFORGE_TENANT_ID": task.tenant,
        "FLOWFORGE_PROJECT_ID": task.flow_id,
        "WINDLASS_ATTEMPT": task.attempt_id,
        "WINDLASS_INPUT": task.input,
        **endpoints,
    }
    plain = [{"name": name, "value": value} for name, value in {**task.spec.env, **ours}.items()]
    secret = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": ref.name, "key": ref.key}}}
        for name, ref in task.spec.secrets.items()
    ]
    return [*plain, *secret]


def _token_env(task: PodTask) -> dict[str, Any]:
    ref = {"name": pod_name(task), "key": _ENTRY}
    return {"name": AUTH_VARIABLE, "valueFrom": {"secretKeyRef": ref}}


def _resources(spec: PodSpec, oom_count: int) -> dict[str, Any]:
    """What it asks for is what it gets: nothing of it is taken away when its node is full."""
    memory = grown(spec.memory, spec.oom_memory_factor, oom_count)
    amounts = {"cpu": spec.cpu, "memory": memory}
    amounts = {name: amount for name, amount in amounts.items() if amount}
    limits = {**amounts, **({"nvidia.com/gpu": str(spec.gpu)} if spec.gpu else {})}
    return {name: value for name, value in (("requests", amounts), ("limits", limits)) if value}


def grown(memory: str, factor: float, times: int) -> str:
    """An amount of memory, so many times more of it; in bytes once it has grown."""
    if not memory or factor <= 1 or not times:
        return memory
    return str(int(amount_of(memory) * factor**times))
