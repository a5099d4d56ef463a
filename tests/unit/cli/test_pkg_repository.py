"""`windlass pkg` against a server's repository."""

import json
from typing import Any

import httpx

from tests.unit.cli.conftest import Invoke, Server

AT = "/api/v1/packages/kit"
STATUSES = {"3.0.0": "active", "2.0.0": "yanked", "1.0.0": "deprecated", "0.9.0": "active"}


def repository(server: Server, statuses: dict[str, str]) -> None:
    def one(request: httpx.Request) -> dict[str, Any]:
        version = request.url.params.get("version", "3.0.0")
        found = {"name": "kit", "version": version, "status": statuses[version]}
        return {**found, "versions": list(statuses)}

    server.answers["GET", AT] = one
    server.answers["GET", "/api/v1/workers"] = {"items": []}
    for version in statuses:
        place = f"/api/v1/published-packages/kit/versions/{version}"
        server.answers["PATCH", place] = {"name": "kit", "version": version}
    server.answers["PUT", "/api/v1/published-packages/kit/tags/latest"] = {"name": "kit"}


def test_a_rollback_passes_over_versions_that_were_taken_back_before(
    server: Server, invoke: Invoke
) -> None:
    repository(server, STATUSES)
    said = invoke("pkg", "rollback", "kit")
    assert "latest is kit@1.0.0" in said.stdout
    (tag,) = [json.loads(r.content) for r in server.requests if r.method == "PUT"]
    assert tag["version"] == "1.0.0"


def test_a_rollback_to_nothing_changes_nothing(server: Server, invoke: Invoke) -> None:
    repository(server, {"3.0.0": "active", "2.0.0": "yanked"})
    assert invoke("pkg", "rollback", "kit").exit_code != 0
    assert {request.method for request in server.requests} == {"GET"}
