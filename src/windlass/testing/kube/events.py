"""Events, as parts of Kubernetes make them and others list them."""

import time
import uuid

from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.pods import PODS, named, stamp
from windlass.testing.kube.problems import ApiError

EVENTS = "events"
EVENT_FIELDS = (
    *("metadata.name", "metadata.namespace", "reason", "type", "reportingComponent"),
    *(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "fieldPath")),
)


class Events:
    """Events by namespace."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def create(self, namespace: str, given: Json) -> Json:
        metadata = named(self._objects, namespace, given)
        about: Json = given.get("involvedObject") or {}
        if about.get("namespace") != namespace:
            why = "involvedObject.namespace: Invalid value: does not match event.namespace"
            raise ApiError(422, "Invalid", f'Event "{metadata["name"]}" is invalid: {why}')
        metadata |= {"namespace": namespace, "uid": str(uuid.uuid4())}
        metadata["creationTimestamp"] = stamp(time.time())
        # As the real one: times that nobody gave are there, and null.
        blank: Json = {
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": None,
            "source": {},
        }
        return self._objects.create(
            EVENTS, {"kind": "Event", "apiVersion": "v1", **blank, **given, "metadata": metadata}
        )

    def tell(self, namespace: str, pod: str, reason: str, message: str, **more: object) -> Json:
        """Say something of a pod, as the kubelet does."""
        found = self._objects.get(PODS, namespace, pod)
        about = {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": pod}
        about["uid"] = found["metadata"]["uid"]
        now = stamp(time.time())
        event: Json = {"reason": reason, "message": message, "type": "Warning", "count": 1}
        event |= {"firstTimestamp": now, "lastTimestamp": now, "source": {"component": "kubelet"}}
        metadata = {"generateName": f"{pod}."}
        return self.create(
            namespace, {**event, **more, "metadata": metadata, "involvedObject": about}
        )
