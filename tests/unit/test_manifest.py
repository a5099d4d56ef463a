"""Manifests: both forms are read, everything wrong is said at once, handlers are found."""

import json
from typing import Any

import pytest

from tests.packages import EXAMPLES, manifest
from windlass.model.errors import DefinitionError
from windlass.protocol.packages.checks import read_manifest
from windlass.protocol.packages.manifest import Manifest


def read(value: Any) -> Manifest:
    return read_manifest(json.dumps(value).encode())


def problems(value: Any) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        read(value)
    return [str(problem) for problem in caught.value.problems]


def paths(value: Any) -> set[str]:
    with pytest.raises(DefinitionError) as caught:
        read(value)
    return {problem.path for problem in caught.value.problems}


def older(**changes: Any) -> dict[str, Any]:
    """A manifest as the seed writes it."""
    found: dict[str, Any] = {
        "name": "playwright",
        "version": "2025.10.0",
        "schemaVersion": "1.0.0",
        "description": "...",
        "adapters": [
            {
                "name": "playwright",
                "runtime": "playwright",
                "entrypoint": "playwright_adapter.adapter:PlaywrightAdapter",
                "capabilities": ["playwright.open_page", "playwright.click"],
                "idempotency": "per_request",
                "metadata": {"disable_ssl_verify": False},
            }
        ],
        "python": {"requires": ">=3.10,<3.13", "dependencies": ["playwright==1.47.2"]},
        "nodes": [
            {
                "type": "playwright.open_page",
                "runtimes": {
                    "playwright": {"config": {"navigationStrategy": "x"}, "handler": "open"}
                },
                "schema": {"parameters": {"type": "object"}, "results": {"type": "object"}},
            },
            {"type": "playwright.click"},
        ],
        "resources": [],
        "hooks": {"install": ["scripts/a.sh"], "uninstall": []},
        "signature": {"sha256": "...", "signedAt": "...", "signedBy": "..."},
    }
    found.update(changes)
    return found


def test_both_forms_are_read() -> None:
    assert read(manifest()).node("tools.run") is not None
    assert read(older()).version == "2025.10.0"


@pytest.mark.parametrize("name", ["text_tools", "crawlerx_playwright"])
def test_the_examples_are_right(name: str) -> None:
    found = read_manifest((EXAMPLES / name / "manifest.json").read_bytes())
    assert found.name == name
    assert len(found.entries()) == len(found.nodes)


def test_everything_wrong_is_said_at_once() -> None:
    value = manifest(name="My Tools", python={"requires": "abc", "dependencies": ["-e evil"]})
    value["surprise"] = 1
    value["adapters"][0]["entrypoint"] = "a b:c"
    value["nodes"].append({**value["nodes"][0], "adapter": "nobody"})
    value["nodes"][0]["schema"] = {"parameters": {"type": "objekt"}}
    assert paths(value) == {
        "manifest",
        "name",
        "adapters[0].entrypoint",
        "python.requires",
        "python.dependencies[0]",
        "nodes[1]",
        "nodes[1].adapter",
        "nodes[0].schema.parameters",
    }


@pytest.mark.parametrize("version", ["1", "v1.0.0", "1.0.0/..", "", "1.0.0-", "latest"])
def test_a_version_is_semantic_or_by_calendar(version: str) -> None:
    assert "version" in paths(manifest(version=version))


@pytest.mark.parametrize("name", ["", "..", "a/b", ".a", "a..b", "A", "a b", "ä", "a" * 101])
def test_a_name_is_safe_as_a_folder(name: str) -> None:
    assert "name" in paths(manifest(name=name))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../b", "a\\b", "C:/x", ".venv/x", ""]
)
def test_paths_stay_inside_the_package(path: str) -> None:
    value = manifest(
        hooks={"install": [path]}, resources=[{"path": path, "type": "file", "sha256": "0" * 64}]
    )
    assert paths(value) == {"hooks.install[0]", "resources[0].path"}


def test_a_download_says_what_it_must_be() -> None:
    value = manifest(resources=[{"path": "a", "type": "download", "url": "https://x/y"}])
    assert paths(value) == {"resources[0]"}


@pytest.mark.parametrize("kind", ["download", "file", "browser"])
def test_a_resource_may_be_of_any_type_and_need_no_url(kind: str) -> None:
    wanted = {"path": "resources/chromium", "type": kind, "sha256": "0" * 64}
    assert read(manifest(resources=[wanted])).resources[0].type == kind


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://nowhere.invalid/schema"},
        {"$ref": "https://nowhere.invalid/schema"},
        {"type": 5},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_schema_must_be_one_and_ask_nobody(schema: dict[str, Any]) -> None:
    value = manifest()
    value["nodes"][0]["schema"] = {"results": schema}
    assert paths(value) == {"nodes[0].schema.results"}


def test_nothing_but_json_objects_is_read() -> None:
    assert problems([]) == ["manifest: this is no object (give name, version, adapters and nodes)"]
    for data in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"name": "a", "name": "b"}'):
        with pytest.raises(DefinitionError):
            read_manifest(data)


def test_a_manifest_of_a_megabyte_is_not_even_parsed() -> None:
    with pytest.raises(DefinitionError, match="at most"):
        read_manifest(b" " * (1 << 20) + b"{}")


def test_two_nodes_of_one_type_are_refused() -> None:
    value = manifest()
    value["nodes"] *= 2
    assert problems(value) == [
        'nodes[1]: "tools.run" is there already, as nodes[0] (give it another name)'
    ]


def test_a_node_nobody_handles_is_refused() -> None:
    value = older()
    value["nodes"].append({"type": "playwright.hover"})
    assert paths(value) == {"nodes[2]"}


def test_resources_may_be_an_object_with_defaults() -> None:
    value = manifest(resources={"defaults": {"inlineThresholdBytes": 1}})
    assert read(value).resources == ()


@pytest.mark.parametrize(
    ("entrypoint", "handler", "path"),
    [
        ("mod", "run", ("run",)),
        ("mod.sub", "run", ("run",)),
        ("mod:Thing", "run", ("Thing", "run")),
        ("mod:run", "run", ("run",)),
        ("mod:thing.run", "run", ("thing", "run")),
        ("mod:thing", "deep.run", ("thing", "deep", "run")),
    ],
)
def test_an_entry_is_the_entrypoint_and_the_handler(
    entrypoint: str, handler: str, path: tuple[str, ...]
) -> None:
    value = manifest()
    value["adapters"][0]["entrypoint"] = entrypoint
    value["nodes"][0]["handler"] = handler
    entry = read(value).entry("tools.run")
    assert entry is not None
    assert (entry.module, entry.path, entry.maybe) == (entrypoint.split(":")[0], path, "")


def test_the_older_form_takes_the_handler_of_the_runtime_or_the_end_of_the_type() -> None:
    found = read(older())
    opened, clicked = found.entry("playwright.open_page"), found.entry("playwright.click")
    assert opened is not None
    assert clicked is not None
    assert (opened.path, opened.maybe) == (("PlaywrightAdapter", "open"), "")
    assert opened.config == {"navigationStrategy": "x"}
    assert (clicked.path, clicked.maybe) == (("PlaywrightAdapter",), "click")


def test_a_node_says_before_its_adapter_how_it_is_run() -> None:
    value = manifest()
    value["adapters"][0]["metadata"] = {"exec_mode": "thread"}
    entry = read(value).entry("tools.run")
    assert entry is not None
    assert entry.exec_mode == "thread"
    value["nodes"][0]["config"] = {"exec_mode": "inline"}
    entry = read(value).entry("tools.run")
    assert entry is not None
    assert entry.exec_mode == "inline"


def test_a_capability_without_a_node_can_be_called_all_the_same() -> None:
    value = older()
    value["adapters"][0]["capabilities"].append("playwright.fill-form")
    found = read(value)
    assert [entry.type for entry in found.entries()] == ["playwright.open_page", "playwright.click"]
    assert [entry.type for entry in found.handlers()][2:] == ["playwright.fill-form"]
    assert found.handlers()[2].maybe == "fill_form"


def test_there_is_no_entry_for_a_type_the_package_lacks() -> None:
    assert read(manifest()).entry("other") is None
