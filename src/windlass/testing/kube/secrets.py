"""Secrets, as far as pods own them: made, given an owner, deleted, and gone with that owner."""

from base64 import b64encode
from typing import Any

from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.problems import not_found

SECRETS = "secrets"


class Secrets:
    """Secrets by namespace."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def create(self, namespace: str, given: Json) -> Json:
        if not self._objects.has("namespaces", "", namespace):
            raise not_found("namespaces", namespace)
        kept = {name: value for name, value in given.items() if name != "stringData"}
        texts: dict[str, str] = given.get("stringData") or {}
        data = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
        metadata = {**given["metadata"], "namespace": namespace}
        return self._objects.create(SECRETS, {**kept, "data": data, "metadata": metadata})

    def patch(self, namespace: str, name: str, patch: Json) -> Json:
        """Merge what is said of its owners; the rest is not for this door."""
        with self._objects.lock:
            secret = self._objects.get(SECRETS, namespace, name)
            owners = patch["metadata"]["ownerReferences"]
            metadata = {**secret["metadata"], "ownerReferences": owners}
            return self._objects.replace(SECRETS, {**secret, "metadata": metadata})

    def delete(self, namespace: str, name: str) -> Json:
        return self._objects.remove(SECRETS, namespace, name)

    def collect(self) -> None:
        """Have those gone whose owner is."""
        with self._objects.lock:
            _, pods = self._objects.select("pods", "", lambda _: True)
            there = {pod["metadata"]["uid"] for pod in pods}
            _, secrets = self._objects.select(SECRETS, "", lambda _: True)
            for secret in secrets:
                owners: list[Any] = secret["metadata"].get("ownerReferences") or []
                if owners and all(owner["uid"] not in there for owner in owners):
                    self.delete(secret["metadata"]["namespace"], secret["metadata"]["name"])
