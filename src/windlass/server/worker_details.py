"""What a worker says of itself, under the names JSON gives it."""

from typing import Any

from windlass.model.values import is_list, is_object
from windlass.protocol.workers_api import WorkerPackage


def packages_of(meta: dict[str, Any]) -> list[WorkerPackage]:
    given = meta.get("packages")
    return [
        WorkerPackage(name=str(p["name"]), version=str(p["version"]), status=str(p["status"]))
        for p in (given if is_list(given) else ())
        if is_object(p) and {"name", "version", "status"} <= p.keys()
    ]


def camel(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields under the names JSON gives them; what is below them stays as it is."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        first, *rest = name.split("_")
        found[first + "".join(word.capitalize() for word in rest)] = value
    return found


def camel_capabilities(given: dict[str, Any]) -> dict[str, Any]:
    concurrency = given.get("concurrency")
    return {**given, "concurrency": camel(concurrency) if is_object(concurrency) else {}}


def camel_heartbeat(given: dict[str, Any]) -> dict[str, Any]:
    metrics = given.get("metrics")
    return {**given, "metrics": camel(metrics) if is_object(metrics) else {}}
