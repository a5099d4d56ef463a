"""`windlass user` says to the server what a person said to it."""

from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server

ADA = {
    "userId": "u1",
    "username": "ada",
    "displayName": "Ada",
    "roles": ["admin"],
    "isActive": True,
}


def test_a_user_is_created_with_a_password_that_was_piped_in(
    server: Server, invoke: Invoke
) -> None:
    server.answers["POST", "/api/v1/users"] = httpx.Response(201, json=ADA)
    done = invoke(
        "user", "create", "ada", "--role", "admin", "--password-stdin", input="a long one\n"
    )
    assert done.exit_code == 0, done.output
    assert server.body() == {"username": "ada", "password": "a long one", "roles": ["admin"]}
    assert "a long one" not in done.output


def test_a_password_is_asked_for_twice(server: Server, invoke: Invoke) -> None:
    server.answers["POST", "/api/v1/users/ada/password"] = httpx.Response(204)
    done = invoke("user", "passwd", "ada", input="a long one\na long one\n")
    assert done.exit_code == 0, done.output
    assert server.body() == {"password": "a long one"}
    differ = invoke("user", "passwd", "ada", input="one\nother\n")
    assert differ.exit_code != 0


@pytest.mark.parametrize(("command", "active"), [("disable", False), ("enable", True)])
def test_a_user_is_disabled_and_enabled(
    server: Server, invoke: Invoke, command: str, active: bool
) -> None:
    server.answers["PATCH", "/api/v1/users/ada/status"] = ADA
    assert invoke("user", command, "ada").exit_code == 0
    assert server.body() == {"isActive": active}


def test_users_are_listed_over_as_many_pages_as_there_are(server: Server, invoke: Invoke) -> None:
    def page(request: httpx.Request) -> Any:
        cursor = request.url.params.get("cursor")
        return {"items": [ADA], "nextCursor": None if cursor else "ada"}

    server.answers["GET", "/api/v1/users"] = page
    listed = invoke("user", "ls")
    assert listed.stdout.count("ada") == 2
