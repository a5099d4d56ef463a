"""Packages: what a workflow takes from them, and keeps, so that it means the same for ever.

    definition ── resolve(catalog) ──▶ locked ── compile_workflow(definition, locked) ──▶ Graph

A package may change hands, be yanked or published anew; a version of a workflow is compiled again
whenever its graph has left memory. So everything taken from a package is kept beside the text.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import msgspec
from packaging.version import InvalidVersion, Version

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_list, is_object, under
from windlass.dialects.workflow.nodes import is_strict
from windlass.dialects.workflow.ports import read_ports
from windlass.dialects.workflow.schemas import readable_schema
from windlass.dialects.workflow.shape import (
    Body,
    Json,
    Package,
    Ports,
    Schemas,
    Source,
    Subgraph,
    WorkflowNode,
)


class Found(msgspec.Struct, frozen=True):
    """A version of a package; one known only from a worker's inventory has no manifest."""

    version: str
    manifest: dict[str, Any] | None = None


class Catalog(Protocol):
    """The packages somebody knows of."""

    def find(self, name: str, version: str | None, min_version: str | None) -> Found | None:
        """That version, or without one the best there is that is not below the least allowed."""
        ...


def take(source: Source, catalog: Catalog, problems: Problems) -> Json:
    """What the nodes of a workflow take from packages, as it is kept beside the definition."""
    taken: dict[str, object] = {}
    for entry in entries_of(source):
        package = entry.package
        if package is None or entry.container is not None or entry.is_plan:
            continue
        key = lock_key(package, entry.type)
        if key in taken:
            continue
        least = source.least(package.name)
        found = catalog.find(package.name, package.version or None, least or None)
        if found is None and package.version and least:
            # Nobody has the one it names; its hints say which others will do.
            found = catalog.find(package.name, None, least)
        if found is None:
            version = package.version or (f"{least} or later" if least else "any version")
            reason = f'package "{package.name:.60}" ({version}) is not known'
            problems.add(package.where, reason, "publish it, or connect a worker that has it")
            continue
        taken[key] = _taken(entry, package, found, problems)
    return {"packages": taken}


def _taken(entry: WorkflowNode, package: Package, found: Found, problems: Problems) -> Json:
    kept: Json = {"package": package.name, "version": found.version, "type": entry.type}
    nodes = found.manifest.get("nodes") if found.manifest else None
    if not is_list(nodes):
        return kept
    known = [node for node in nodes if is_object(node)]
    node = next((node for node in known if node.get("type") == entry.type), None)
    if node is None:
        types = [str(node.get("type")) for node in known]
        hint = problems.closest(entry.type, types) or "known are " + ", ".join(types[:8])
        reason = f'"{package.name} {found.version}" has no node type "{entry.type:.60}"'
        problems.add(under(entry.where, "type"), reason, hint)
        return kept
    for name in ("schema", "config", "runtimes", "handler", "role"):
        if node.get(name):
            kept[name] = node[name]
    ui = node.get("ui")
    if is_object(ui):
        kept["ui"] = {side: ui[side] for side in ("inputPorts", "outputPorts") if ui.get(side)}
    return kept


def lock_key(package: Package, type_: str) -> str:
    return f"{package.name}@{package.version}:{type_}"


def with_locked(source: Source, locked: object, problems: Problems) -> Source:
    """A workflow with what was taken from packages in its place.

    What a node says itself comes first: it is what its author saw. A package supplies the version,
    schemas and ports that are left out.
    """
    packages = locked.get("packages") if is_object(locked) else None
    known = packages if is_object(packages) else {}

    def fill(body: Body) -> Body:
        entries = {key: _filled(entry, known, problems) for key, entry in body.entries.items()}
        return replace(body, entries=entries)

    subgraphs = {
        key: Subgraph(graph.id, graph.label, fill(graph.body))
        for key, graph in source.subgraphs.items()
    }
    return replace(source, body=fill(source.body), subgraphs=subgraphs)


def _filled(entry: WorkflowNode, known: Json, problems: Problems) -> WorkflowNode:
    middlewares = tuple(_filled(middleware, known, problems) for middleware in entry.middlewares)
    entry = replace(entry, middlewares=middlewares)
    package = entry.package
    kept = known.get(lock_key(package, entry.type)) if package is not None else None
    if package is None or not is_object(kept):
        return entry
    version = str(kept.get("version") or "")
    if package.version and version not in ("", package.version):
        reason = f"{package.version} is not there; {version} meets minVersion and is taken instead"
        problems.warn(under(package.where, "version"), reason)
    package = replace(package, version=version or package.version)
    ui = read_ports(kept.get("ui"), under(package.where, "ui"), problems)
    return replace(
        entry,
        package=package,
        strict=entry.strict or is_strict(kept.get("config")),
        schemas=_with_schemas(entry.schemas, kept.get("schema"), package.where, problems),
        ports=Ports({**ui.inputs, **entry.ports.inputs}, {**ui.outputs, **entry.ports.outputs}),
    )


def _with_schemas(own: Schemas, kept: object, where: str, problems: Problems) -> Schemas:
    def side(name: str, mine: Json | None) -> Json | None:
        given = kept.get(name) if is_object(kept) else None
        if mine is not None or not is_object(given):
            return mine
        return readable_schema(given, under(under(where, "schema"), name), problems)

    return Schemas(side("parameters", own.parameters), side("results", own.results))


def check_packages(source: Source, problems: Problems) -> None:
    """Note nodes without a package or a version, and versions below what the workflow asks for."""
    for entry in entries_of(source):
        if entry.container is not None or entry.is_plan:
            continue
        package, where = entry.package, under(entry.where, "package")
        if package is None and entry.pod is not None:
            continue  # what it does is in its image
        if package is None:
            hint = "name the package its type comes from"
            problems.add(where, f'node "{entry.label:.60}" names no package', hint)
        elif not package.version and package.name:
            hint = "give a version, or publish the workflow where the package is known"
            problems.add(under(where, "version"), "is missing and was not resolved", hint)
        else:
            _check_least(source, package, problems)


def _check_least(source: Source, package: Package, problems: Problems) -> None:
    for hint in source.hints:
        if hint.package == package.name and below(package.version, hint.version):
            reason = f"{package.version} is below {hint.version}, which {hint.where} asks for"
            problems.add(under(package.where, "version"), reason, "take a newer version")


def below(version: str, least: str) -> bool:
    """Whether a version comes before another; texts that are no versions are not compared."""
    try:
        return Version(version) < Version(least)
    except InvalidVersion:
        return False


def entries_of(source: Source) -> Iterator[WorkflowNode]:
    """Every node and middleware of a workflow and its subgraphs, once."""
    for body in (source.body, *(graph.body for graph in source.subgraphs.values())):
        for entry in body.entries.values():
            yield entry
            yield from entry.middlewares
