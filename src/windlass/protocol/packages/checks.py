"""Reads manifest.json, and says everything that is wrong with it at once."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
from jsonschema_rs import ValidationErrorKind
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from windlass.model.errors import DefinitionError, Problem
from windlass.model.values import is_object
from windlass.protocol.packages import shape
from windlass.protocol.packages.digest import is_digest
from windlass.protocol.packages.manifest import Manifest, Node
from windlass.protocol.packages.names import path_flaw

BYTES_MAX = 1 << 20
PROBLEMS_MAX = 200

_DRAFTS = ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
_SHAPE = jsonschema_rs.validator_for(shape.MANIFEST, offline=True)


def read_manifest(data: bytes) -> Manifest:
    """The manifest in `data`; raises DefinitionError with all problems if it has any."""
    manifest, problems = examine(data)
    if manifest is None or problems:
        raise DefinitionError(problems[:PROBLEMS_MAX])
    return manifest


def examine(data: bytes) -> tuple[Manifest | None, list[Problem]]:
    """All that is wrong with a manifest, and as much of it as could be read nevertheless."""
    try:
        value = _plain(data)
    except ValueError as error:
        return None, [Problem("manifest", str(error))]
    problems = [*_misshapen(value)]
    try:
        manifest = msgspec.convert(_one_form(value), Manifest)
    except msgspec.ValidationError as error:
        # The shape lets nothing through that the model does not take, so it has said this already.
        return None, problems or [Problem("manifest", str(error))]
    return manifest, [*problems, *_check(manifest)]


def _plain(data: bytes) -> object:
    if len(data) > BYTES_MAX:
        raise ValueError(f"it has {len(data)} bytes, at most {BYTES_MAX} are read")
    try:
        # A byte order mark is no reason to send an author away.
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON: {error}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two equal keys they take, so there must not be two."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twice[:60]}" is there twice')
    return found


def _one_form(value: object) -> object:
    """Resources may be a list, or an object that holds the list beside its defaults."""
    if not is_object(value):
        return value
    resources = value.get("resources")
    if not is_object(resources):
        return value
    return {**value, "resources": resources.get("files", [])}


def _misshapen(value: object) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem("manifest", "this is no object", "give name, version, adapters and nodes")
        return
    for error in _SHAPE.iter_errors(value):
        yield Problem(_path(error.instance_path), *_words(error))


def _words(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    match error.kind:
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            shown = ", ".join(f'"{name}"' for name in list(names)[:5])
            return f"{shown}: not known here", "start a name with x- to keep a note of your own"
        case ValidationErrorKind.Required(property=name):
            return f'"{name}" is missing', "add it"
        case ValidationErrorKind.Pattern(pattern=pattern):
            return (
                f"{error.message[:80].split(' does not match')[0]} is not allowed",
                f"it must match {pattern}",
            )
        case _:
            return error.message[:200], ""


def _path(steps: list[str | int]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step[:60]}" for step in steps)
    return path.lstrip(".") or "manifest"


def _check(manifest: Manifest) -> Iterator[Problem]:
    yield from _repeated("adapters", [adapter.name for adapter in manifest.adapters])
    yield from _repeated("nodes", [node.type for node in manifest.nodes])
    yield from _check_python(manifest)
    for index, node in enumerate(manifest.nodes):
        yield from _check_node(manifest, node, f"nodes[{index}]")
    for index, resource in enumerate(manifest.resources):
        where = f"resources[{index}]"
        yield from _unsafe(f"{where}.path", resource.path)
        if resource.sha256 and not is_digest(resource.sha256):
            yield Problem(f"{where}.sha256", "this is no digest", "give 64 hexadecimal digits")
        if resource.url and not resource.sha256:
            hint = "give sha256: what is downloaded must be what the author meant"
            yield Problem(where, "a download cannot be checked", hint)
    for kind, paths in (
        ("install", manifest.hooks.install),
        ("uninstall", manifest.hooks.uninstall),
    ):
        for index, path in enumerate(paths):
            yield from _unsafe(f"hooks.{kind}[{index}]", path)


def _repeated(where: str, names: list[str]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            reason = f'"{name}" is there already, as {where}[{first[name]}]'
            yield Problem(f"{where}[{index}]", reason, "give it another name")


def _check_python(manifest: Manifest) -> Iterator[Problem]:
    try:
        SpecifierSet(manifest.python.requires)
    except InvalidSpecifier:
        shown = manifest.python.requires[:60]
        yield Problem("python.requires", f'"{shown}" is no specifier', "write it like >=3.10,<3.13")
    for index, text in enumerate(manifest.python.dependencies):
        try:
            Requirement(text)
        except InvalidRequirement as error:
            reason = f'"{text[:60]}" is no requirement: {str(error).splitlines()[0]}'
            yield Problem(f"python.dependencies[{index}]", reason, "write it like httpx==0.28.1")


def _check_node(manifest: Manifest, node: Node, where: str) -> Iterator[Problem]:
    if manifest.adapter_of(node) is None:
        names = ", ".join(adapter.name for adapter in manifest.adapters)
        if node.adapter:
            yield Problem(f"{where}.adapter", f'no adapter "{node.adapter}"', f"there is {names}")
        else:
            hint = "name an adapter and a handler, or list the type in an adapter's capabilities"
            yield Problem(where, f'nothing handles "{node.type}"', hint)
    for part, schema in (("parameters", node.schema.parameters), ("results", node.schema.results)):
        flaw = schema_flaw(schema)
        if flaw:
            yield Problem(f"{where}.schema.{part}", flaw)


def schema_flaw(schema: dict[str, Any] | bool) -> str:
    """Why a value is no JSON Schema that can be used without asking the network; empty if it is."""
    if isinstance(schema, bool):
        return ""
    draft = schema.get("$schema")
    if draft is not None and not any(known in str(draft) for known in _DRAFTS):
        return f'the draft "{str(draft)[:80]}" is not known'
    try:
        jsonschema_rs.validator_for(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        at = _path(error.instance_path)
        return f"{error.message[:200]}" + ("" if at == "manifest" else f" at {at}")
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        return f"it refers to something that is not in it: {str(error)[:200]}"
    return ""


def _unsafe(where: str, path: str) -> Iterator[Problem]:
    flaw = path_flaw(path)
    if flaw:
        hint = "write a path below the package, with forward slashes"
        yield Problem(where, f'"{path[:80]}" {flaw}', hint)
