"""`windlass limit` says to the server what a person said to it, and shows what is in use."""

from tests.unit.cli.conftest import Invoke, Server

RULE = {"pattern": "bank:*", "max": 3, "rate": None, "perS": 1, "burst": 1, "changedAt": 5}
USE = {
    "key": "bank:42",
    "max": 5,
    "rate": 50,
    "perS": 1,
    "burst": 1,
    "inUse": 5,
    "waiting": 3,
    "rule": "bank:*",
}


def test_a_rule_is_set_with_what_was_said_and_nothing_else(server: Server, invoke: Invoke) -> None:
    server.answers["PUT", "/api/v1/limit-rules"] = RULE
    done = invoke("limit", "set", "bank:*", "--max", "3")
    assert done.exit_code == 0, done.output
    body = server.body()
    assert (body["pattern"], body["max"], body["rate"], body["burst"]) == ("bank:*", 3, None, None)
    assert "bank:*" in done.output


def test_keys_in_use_are_listed(server: Server, invoke: Invoke, on_terminal: None) -> None:
    server.answers["GET", "/api/v1/limits"] = {"items": [USE], "next": None}
    done = invoke("limit", "ls", "bank:")
    assert done.exit_code == 0, done.output
    assert server.requests[-1].url.params["prefix"] == "bank:"
    assert "bank:42" in done.output
    assert "50 in 1 s" in done.output


def test_one_key_is_shown_and_one_that_is_not_in_use_is_said_to_be(
    server: Server, invoke: Invoke
) -> None:
    server.answers["GET", "/api/v1/limits"] = {"items": [USE], "next": None}
    assert "in_use\t5" in invoke("limit", "show", "bank:42").output
    server.answers["GET", "/api/v1/limits"] = {"items": [], "next": None}
    missing = invoke("limit", "show", "bank:43")
    assert missing.exit_code != 0


def test_rules_are_listed_and_removed(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/limit-rules"] = {"items": [RULE], "next": None}
    assert invoke("limit", "ls", "--rules").output.startswith("bank:*\t3")
    server.answers["DELETE", "/api/v1/limit-rules"] = {"ok": True}
    assert invoke("limit", "rm", "bank:*").exit_code == 0
    assert server.requests[-1].url.params["pattern"] == "bank:*"


def test_a_priority_is_changed(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/runs/r1"] = {"id": "r1", "flow": "f", "state": "running"}
    server.answers["POST", "/api/v1/runs/r1/priority"] = {"ok": True}
    done = invoke("run", "priority", "r1", "7")
    assert done.exit_code == 0, done.output
    assert server.body() == {"priority": 7}


def test_a_tenant_is_given_weight(server: Server, invoke: Invoke) -> None:
    server.answers["PATCH", "/api/v1/tenants/acme"] = {"name": "acme", "weight": 4}
    done = invoke("tenant", "weight", "acme", "4")
    assert done.exit_code == 0, done.output
    assert server.body() == {"weight": 4}


def test_a_budget_is_set_and_shown(server: Server, invoke: Invoke, on_terminal: None) -> None:
    server.answers["PUT", "/api/v1/limit-rules"] = {"pattern": "budget:tokens", "budget": 5000}
    assert invoke("limit", "set", "budget:tokens", "--budget", "5000").exit_code == 0
    assert server.body()["budget"] == 5000
    spent = {**USE, "key": "budget:tokens", "unit": "tokens", "budget": 5000, "spent": 120}
    server.answers["GET", "/api/v1/limits"] = {"items": [spent], "next": None}
    assert "120 of 5000" in invoke("limit", "ls", "budget:").output


def test_a_run_is_started_with_a_budget(server: Server, invoke: Invoke) -> None:
    server.answers["POST", "/api/v1/runs"] = {"id": "run-1", "flow": "f", "state": "queued"}
    done = invoke("run", "start", "f", "--budget", "tokens=5000", "--budget", "money=2.5")
    assert done.exit_code == 0, done.output
    assert server.body()["budget"] == {"tokens": 5000, "money": 2.5}
    assert "tokens=5000" in invoke("run", "start", "f", "--budget", "tokens").output
