"""What the API server itself does to pods: checks, defaults, binding, status, graceful deletion.

There is no kubelet: tests say what becomes of a pod by patching its status, and end a graceful
deletion by another with `gracePeriodSeconds: 0`, as the kubelet would.
"""

import re
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.problems import ApiError, not_found

PODS = "pods"
GRACE_S = 30
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")
_LABEL = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
_ENDED = ("Succeeded", "Failed")


class Pods:
    """Pods by namespace, with the rules of their life."""

    def __init__(
        self,
        objects: Objects,
        now: Callable[[], float] = time.time,
        new_uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._objects = objects
        self._now = now
        self._new_uid = new_uid
        self.logs: dict[tuple[str, str], str] = {}

    def create(self, namespace: str, given: Json) -> Json:
        metadata = named(self._objects, namespace, given)
        spec = dict(given.get("spec") or {})
        _check(metadata, spec)
        metadata |= {
            "namespace": namespace,
            "uid": self._new_uid(),
            "creationTimestamp": self._stamp(),
        }
        spec = {"restartPolicy": "Always", "terminationGracePeriodSeconds": GRACE_S, **spec}
        status = {"phase": "Pending", "qosClass": "BestEffort"}
        return self._objects.create(
            PODS,
            {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
            | {"status": status},
        )

    def patch_status(self, namespace: str, name: str, patch: Json) -> Json:
        """Merge the patch's status; whatever else it says is not for this door."""
        with self._objects.lock:
            pod = self._objects.get(PODS, namespace, name)
            status = merged(pod.get("status") or {}, patch.get("status") or {})
            return self._objects.replace(PODS, {**pod, "status": status})

    def patch(self, namespace: str, name: str, patch: Json) -> Json:
        """Merge everything but the status."""
        with self._objects.lock:
            pod = self._objects.get(PODS, namespace, name)
            changed = merged(pod, {**patch, "status": {}})
            return self._objects.replace(PODS, changed)

    def bind(self, namespace: str, name: str, node: str) -> Json:
        """Give a pod its node, as the scheduler does."""
        with self._objects.lock:
            pod = self._objects.get(PODS, namespace, name)
            if pod["spec"].get("nodeName"):
                message = f"pod {name} is already assigned to node {pod['spec']['nodeName']!r}"
                raise ApiError(409, "Conflict", message)
            status = dict(pod["status"])
            others = [c for c in status.get("conditions", []) if c["type"] != "PodScheduled"]
            scheduled = {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": self._stamp(),
            }
            spec = {**pod["spec"], "nodeName": node}
            status["conditions"] = [*others, scheduled]
            return self._objects.replace(PODS, {**pod, "spec": spec, "status": status})

    def delete(self, namespace: str, name: str, options: Json) -> Json:
        """Begin a graceful deletion, or end it at once where nothing runs that could mind."""
        with self._objects.lock:
            pod = self._objects.get(PODS, namespace, name)
            metadata = pod["metadata"]
            preconditions: Json = options.get("preconditions") or {}
            wanted = preconditions.get("uid")
            if wanted and wanted != metadata["uid"]:
                message = f"the UID in the precondition ({wanted}) does not match the UID in record"
                raise ApiError(409, "Conflict", message)
            grace = options.get("gracePeriodSeconds")
            if grace is None:
                grace = pod["spec"].get("terminationGracePeriodSeconds", GRACE_S)
            running = pod["spec"].get("nodeName") and pod["status"].get("phase") not in _ENDED
            if grace == 0 or not running:
                return self._objects.remove(PODS, namespace, name)
            if "deletionTimestamp" in metadata:
                return pod
            leaving = {"deletionTimestamp": self._stamp(grace)}
            leaving["deletionGracePeriodSeconds"] = grace
            return self._objects.replace(PODS, {**pod, "metadata": {**metadata, **leaving}})

    def _stamp(self, after_s: float = 0) -> str:
        return stamp(self._now() + after_s)

    def log(self, namespace: str, name: str, tail_lines: int | None) -> str:
        self._objects.get(PODS, namespace, name)
        text = self.logs.get((namespace, name), "")
        if tail_lines is None:
            return text
        lines = text.splitlines(keepends=True)
        return "".join(lines[len(lines) - min(tail_lines, len(lines)) :])


def stamp(at: float) -> str:
    """A moment as Kubernetes writes it: in whole seconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch: null removes, objects merge, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    kept: Json = {**old} if isinstance(old, dict) else {}
    for name, value in cast(Json, patch).items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), value)
    return kept


def _check(metadata: Json, spec: Json) -> None:
    name = metadata.get("name") or ""
    if not _NAME.match(name):
        raise _invalid(name, f"metadata.name: Invalid value: {name!r}")
    labels: Json = metadata.get("labels") or {}
    for key, value in labels.items():
        if not isinstance(value, str) or not _LABEL.match(value):
            raise _invalid(name, f"metadata.labels: Invalid value: {key}={value!r}")
    if not spec.get("containers"):
        raise _invalid(name, "spec.containers: Required value")
    for place in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(place) or ()):
            for field in ("name", "image"):
                if not container.get(field):
                    raise _invalid(name, f"spec.{place}[{at}].{field}: Required value")


def _invalid(name: str, why: str) -> ApiError:
    return ApiError(422, "Invalid", f'Pod "{name}" is invalid: {why}')


def named(objects: Objects, namespace: str, given: Json) -> Json:
    """The metadata of something that is made in a namespace, with a name if it asks for one."""
    if not objects.has("namespaces", "", namespace):
        raise not_found("namespaces", namespace)
    metadata = dict(given.get("metadata") or {})
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
    return metadata
