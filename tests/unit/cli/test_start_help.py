"""`run start FLOW --help` tells what FLOW wants to be given."""

from pathlib import Path
from typing import Any

import httpx

from tests.unit.cli.conftest import Invoke, Server

SCHEMA = {
    "type": "object",
    "required": ["count"],
    "properties": {
        "count": {"type": "integer", "description": "How many orders."},
        "size": {"enum": ["s", "l"], "default": "s"},
    },
}


def publish(server: Server, **version: Any) -> None:
    server.answers["GET", "/api/v1/flows/orders"] = {"id": "f", "name": "orders", "latest": 2}
    server.answers["GET", "/api/v1/flows/orders/versions/2"] = {"definition": {}, **version}


def test_declared_parameters_are_listed(server: Server, invoke: Invoke) -> None:
    publish(server, paramsSchema=SCHEMA)
    shown = invoke("run", "start", "orders", "--help")
    assert shown.exit_code == 0
    assert "Parameters of orders:" in shown.stdout
    assert "integer, required. How many orders." in shown.stdout
    assert "one of s, l, default 's'" in shown.stdout


def test_names_that_are_only_read_are_listed_as_such(server: Server, invoke: Invoke) -> None:
    publish(server)
    server.answers["POST", "/api/v1/flows/validate"] = {"params": ["count"]}
    assert "count" in invoke("run", "start", "-h", "orders").stdout


def test_help_is_there_without_a_flow_or_a_server(server: Server, invoke: Invoke) -> None:
    plain = invoke("run", "start", "--help")
    assert plain.exit_code == 0
    assert "--wait" in plain.stdout
    assert "Parameters of" not in plain.stdout
    server.answers["GET", "/api/v1/flows/orders"] = httpx.Response(503, json={"detail": "away"})
    shown = invoke("run", "start", "orders", "--help")
    assert shown.exit_code == 0
    assert "not known" in shown.stdout


def test_a_workflow_is_pushed_under_the_name_given(
    server: Server, invoke: Invoke, tmp_path: Path
) -> None:
    server.answers["POST", "/api/v1/flows/w-1/versions"] = {"flow": "other", "version": 1}
    file = tmp_path / "w.json"
    file.write_text('{"id": "w-1", "schemaVersion": "2025-10", "nodes": [], "metadata": {"a": 1}}')
    assert invoke("flow", "push", str(file), "--name", "other").exit_code == 0
    assert server.body()["definition"]["metadata"] == {"a": 1, "name": "other"}
