"""The catalog: every package anybody has, whether published here or only installed on a worker."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from windlass.dialects.workflow import Found
from windlass.dialects.workflow.plans import TYPE as PLAN
from windlass.engine.engine import Engine
from windlass.engine.workers import is_there, services_of
from windlass.model.packages import Manifest, PackageVersion
from windlass.model.rows import Worker
from windlass.model.values import is_list, is_object
from windlass.ports.store import Cond
from windlass.protocol.packages import versions

_VERSIONS_MAX = 10_000


class Catalog:
    """The versions of some packages as they stood when it was read."""

    def __init__(self) -> None:
        self._found: defaultdict[str, dict[str, Found]] = defaultdict(dict)
        self._there: defaultdict[str, set[str]] = defaultdict(set)
        """Versions that can be had now: published, or on a worker that is there."""

    def add(
        self, name: str, version: str, manifest: dict[str, Any] | None, *, there: bool = True
    ) -> None:
        if there:
            self._there[name].add(version)
        known = self._found[name].get(version)
        if known is None or known.manifest is None:
            self._found[name][version] = Found(version, manifest)

    def find(self, name: str, version: str | None, min_version: str | None) -> Found | None:
        """That version; where a least one is allowed and it cannot be had, one that can."""
        found, there = self._found.get(name, {}), self._there[name]
        if version and (version in there or not min_version):
            return found.get(version)
        known = [text for text in found if versions.is_version(text)]
        newest = versions.newest([text for text in known if text in there], min_version or "")
        if newest is None and version:
            return found.get(version)
        if newest is None:
            newest = versions.newest(known, min_version or "")
        return found[newest] if newest is not None else None


async def catalog_of(engine: Engine, names: Iterable[str]) -> Catalog:
    """What is known of some packages. A yanked version is only for those who have it already."""
    wanted = set(names)
    catalog = Catalog()
    if not wanted:
        return catalog
    where = [Cond("name", "in", sorted(wanted)), Cond("status", "!=", "yanked")]
    for row in await engine.store.page(PackageVersion, where, limit=_VERSIONS_MAX):
        catalog.add(row.name, row.version, msgspec.json.decode(row.manifest))
    linked = [Cond("transport", "=", "link")]
    installed: dict[str, bool] = {}
    for worker in await engine.store.page(Worker, linked, limit=_VERSIONS_MAX):
        for package in services_of(worker):
            if package.rpartition("@")[0] in wanted:
                installed[package] = installed.get(package, False) or is_there(engine, worker)
    reported = await manifests_of(engine, installed)
    for package, there in installed.items():
        name, _, version = package.rpartition("@")
        told = reported.get(package)
        manifest = None if told is None else msgspec.json.decode(told.manifest)
        catalog.add(name, version, manifest, there=there)
    return catalog


async def manifests_of(engine: Engine, packages: Iterable[str]) -> dict[str, Manifest]:
    """What workers said is in these versions (`name@version`), if one did."""
    keys = sorted(set(packages))
    if not keys:
        return {}
    async with engine.store.session() as session:
        return {row.package: row for row in await session.rows(Manifest, keys)}


async def keep_manifests(engine: Engine, manifests: Mapping[str, dict[str, Any]]) -> None:
    """Remember what a worker says is in its packages, for every process and after a restart."""
    known = await manifests_of(engine, manifests)
    now = engine.store.now()
    rows: list[Manifest] = []
    for package, manifest in manifests.items():
        text = msgspec.json.encode(manifest).decode()
        if package not in known or known[package].manifest != text:
            rows.append(Manifest(package=package, manifest=text, reported_at=now))
    if rows:
        await engine.write(*rows)


def packages_named(definition: object) -> set[str]:
    """Names of packages a workflow mentions anywhere, however wrong the rest of it may be."""
    packages = (value.get("package") for value in _objects_in(definition))
    names = (package.get("name") for package in packages if is_object(package))
    return {name for name in names if isinstance(name, str)}


def plans_something(definition: object) -> bool:
    """Whether a workflow has a plan anywhere, which needs no package."""
    return any(value.get("type") == PLAN for value in _objects_in(definition))


def _objects_in(definition: object) -> Iterator[dict[str, Any]]:
    pending: list[object] = [definition]
    while pending:
        value = pending.pop()
        if is_object(value):
            yield value
            pending += value.values()
        elif is_list(value):
            pending += value
