"""People sign in, do what their roles allow, and are kept out when they should be."""

import asyncio
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest

from tests.integration.astraflow.conftest import foreign, token, until
from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.workflows import chain

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
USERS = "/api/v1/users"
Json = dict[str, Any]


async def add(server: LinkServer, name: str, *roles: str) -> Json:
    body = {"username": name, "password": PASSWORD, "displayName": name, "roles": list(roles)}
    made = await server.http.post(USERS, json=body)
    assert made.status_code == 201, made.text
    found: Json = made.json()
    return found


async def sign_in(server: LinkServer, name: str, password: str = PASSWORD) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url) as anybody:
        body = {"username": name, "password": password}
        return await anybody.post("/api/v1/auth/login", json=body)


async def signed_in(server: LinkServer, name: str) -> httpx.AsyncClient:
    answer = await sign_in(server, name)
    assert answer.status_code == 200, answer.text
    headers = {"Authorization": f"Bearer {answer.json()['accessToken']}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30)


async def test_a_user_signs_in_and_is_known_by_the_session(server: LinkServer) -> None:
    made = await add(server, "ada", "workflow.editor")
    answer = await sign_in(server, "ada")
    session = answer.json()
    assert session["tokenType"] == "Bearer"
    assert session["expiresIn"] == 900
    assert session["user"] == made
    assert answer.headers["Cache-Control"] == "no-store"
    async with await signed_in(server, "ada") as ada:
        assert (await ada.get(f"{USERS}/me")).json() == made
        changed = await ada.patch(f"{USERS}/me", json={"displayName": "Ada L."})
        assert changed.json()["displayName"] == "Ada L."
        renewed = await ada.post("/api/v1/auth/refresh")
        assert renewed.status_code == 200
        assert renewed.json()["accessToken"]
    assert (await server.http.get(f"{USERS}/me")).status_code == 404  # a token is no user
    assert (await server.http.post("/api/v1/auth/refresh")).status_code == 401


async def test_wrong_names_and_passwords_are_told_alike_and_as_slowly(server: LinkServer) -> None:
    await add(server, "ada", "run.viewer")
    await sign_in(server, "warm", "up")
    took: list[float] = []
    told: list[str] = []
    for name in ("ada", "nobody"):
        began = time.perf_counter()
        answer = await sign_in(server, name, "wrong password")
        took.append(time.perf_counter() - began)
        assert answer.status_code == 401
        told.append(answer.json()["detail"])
    assert told[0] == told[1]
    assert took[1] > took[0] / 4  # the same work is done, whoever it is


@pytest.mark.parametrize("server_args", [("--login-tries", "3")])
async def test_guessing_is_slowed_down_by_user_and_address(server: LinkServer) -> None:
    await add(server, "ada", "run.viewer")
    await add(server, "bob", "run.viewer")
    for _ in range(3):
        assert (await sign_in(server, "ada", "guess guess")).status_code == 401
    held = await sign_in(server, "ada")
    assert held.status_code == 429
    assert int(held.headers["Retry-After"]) > 0
    assert (await sign_in(server, "bob")).status_code == 200  # others are not held up


FORGED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


async def guess(server: LinkServer, name: str, **headers: str) -> int:
    async with httpx.AsyncClient(base_url=server.url, headers=headers) as anybody:
        body = {"username": name, "password": "guess guess"}
        return (await anybody.post("/api/v1/auth/login", json=body)).status_code


async def addresses(server: LinkServer) -> set[str]:
    """Where the audit trail says that sign-ins were refused."""
    page = (await server.http.get("/api/v1/audit-events")).json()["items"]
    return {item["metadata"]["address"] for item in page if item["action"] == "auth.refused"}


@pytest.mark.parametrize("server_args", [("--login-tries", "3")])
async def test_neither_blanks_nor_forged_addresses_give_more_tries(server: LinkServer) -> None:
    await add(server, "ada", "run.viewer")
    tries = [
        await guess(server, name, **{"X-Forwarded-For": f"203.0.113.{number}"})
        for number, name in enumerate(["ada", " ada", "ada\u3000", "\tada\n", "  ada"])
    ]
    assert tries == [401, 401, 401, 429, 429]
    assert await addresses(server) == {"127.0.0.1"}


@pytest.mark.parametrize(
    "server_args", [("--login-tries", "3", "--trusted-proxy", "127.0.0.0/8,10.9.9.9")]
)
async def test_a_proxy_that_is_named_says_who_calls(server: LinkServer) -> None:
    for _ in range(3):
        assert await guess(server, "ada", **FORGED) == 401
    assert await guess(server, "ada", **FORGED) == 429
    # What the caller itself wrote stands before what the proxies add, and does not count.
    behind = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9, 10.9.9.9"}
    assert await guess(server, "ada", **behind) == 429
    assert await guess(server, "ada", **{"X-Forwarded-For": "203.0.113.10"}) == 401
    assert await addresses(server) == {"203.0.113.9", "203.0.113.10"}


async def test_roles_say_what_a_user_may_do(server: LinkServer) -> None:
    for name, role in (("ed", "workflow.editor"), ("vi", "run.viewer"), ("wo", "worker")):
        await add(server, name, role)
    editor, viewer = await signed_in(server, "ed"), await signed_in(server, "vi")
    async with editor, viewer, connected(foreign(server)):
        body = {"workflow": chain("by-ed", "demo.a"), "clientId": "c"}
        assert (await viewer.post("/api/v1/runs", json=body)).status_code == 403
        started = await editor.post("/api/v1/runs", json=body)
        assert started.status_code == 202
        at = f"/api/v1/runs/{started.json()['runId']}"
        assert (await editor.get(at)).status_code == 200  # who starts a run may read it
        assert (await viewer.get(at)).status_code == 200
        assert (await editor.get(USERS)).status_code == 403
        assert (await editor.get("/api/v1/audit-events")).status_code == 403
    async with await signed_in(server, "wo") as worker:
        announced = await worker.post("/api/workers/register", json={"workerId": "w"})
        assert announced.status_code == 200


async def test_viewers_read_their_half(server: LinkServer) -> None:
    await add(server, "wf", "workflow.viewer")
    await add(server, "rv", "run.viewer")
    await add(server, "both", "workflow.viewer", "run.viewer")
    workflows = ("workflows", "flows", "packages", "nodes")
    runs = ("runs", "workers", "checkpoints")
    for name, may in (("wf", workflows), ("rv", runs), ("both", (*workflows, *runs))):
        async with await signed_in(server, name) as client:
            for path in (*workflows, *runs):
                status = 200 if path in may else 403
                assert (await client.get(f"/api/v1/{path}")).status_code == status, (name, path)
            assert (await client.get(f"{USERS}/me")).status_code == 200
            old = (await client.get("/tasks")).status_code  # the older surface has the same halves
            assert (old == 403) == (name == "wf")


async def test_a_disabled_user_is_out_within_seconds(server: LinkServer) -> None:
    ada = await add(server, "ada", "admin")
    async with await signed_in(server, "ada") as session:
        assert (await session.get(USERS)).status_code == 200
        at = f"{USERS}/{ada['userId']}"
        own = await session.patch(f"{at}/status", json={"isActive": False})
        assert own.status_code == 400  # not oneself
        off = await server.http.patch(f"{at}/status", json={"isActive": False})
        assert off.json()["isActive"] is False

        async def out() -> bool:
            return (await session.get(USERS)).status_code == 401

        await until(out)
        assert (await sign_in(server, "ada")).status_code == 401
        await server.http.patch(f"{at}/status", json={"isActive": True})
        assert (await session.get(USERS)).status_code == 200


async def test_a_new_password_ends_the_sessions_of_the_old_one(server: LinkServer) -> None:
    await add(server, "ada", "run.viewer")
    other = await add(server, "bob", "run.viewer")
    async with await signed_in(server, "ada") as ada:
        new = {"password": "another good one", "currentPassword": PASSWORD}
        theirs = f"{USERS}/{other['userId']}/password"
        assert (await ada.post(theirs, json=new)).status_code == 403
        wrong = {**new, "currentPassword": "wrong"}
        assert (await ada.post(f"{USERS}/me/password", json=wrong)).status_code == 403
        short = {**new, "password": "short"}
        assert (await ada.post(f"{USERS}/me/password", json=short)).status_code == 400
        assert (await ada.post(f"{USERS}/me/password", json=new)).status_code == 204
        assert (await ada.get(f"{USERS}/me")).status_code == 401
    assert (await sign_in(server, "ada")).status_code == 401
    assert (await sign_in(server, "ada", "another good one")).status_code == 200
    reset = await server.http.post(f"{USERS}/ada/password", json={"password": PASSWORD})
    assert reset.status_code == 204
    assert (await sign_in(server, "ada")).status_code == 200


async def test_roles_are_given_and_taken(server: LinkServer) -> None:
    ada = await add(server, "ada", "run.viewer")
    at = f"{USERS}/{ada['userId']}/roles"
    async with await signed_in(server, "ada") as session:
        assert (await session.get(USERS)).status_code == 403
        given = await server.http.post(at, json={"role": "admin"})
        assert given.json()["roles"] == ["admin", "run.viewer"]
        assert (await session.get(USERS)).status_code == 200
        own = await session.delete(f"{at}/admin")
        assert own.status_code == 409
    taken = await server.http.delete(f"{at}/admin")
    assert taken.json()["roles"] == ["run.viewer"]
    assert (await server.http.delete(f"{at}/admin")).status_code == 404
    assert (await server.http.post(at, json={"role": "king"})).status_code == 400


async def test_users_are_listed_in_pages_and_by_filter(server: LinkServer) -> None:
    for name in ("ada", "bob", "cy"):
        await add(server, name, "admin" if name == "cy" else "run.viewer")
    await server.http.patch(f"{USERS}/bob/status", json={"isActive": False})

    async def names(**query: Any) -> list[str]:
        items = (await server.http.get(USERS, params=query)).json()["items"]
        return [item["username"] for item in items]

    assert await names() == ["ada", "bob", "cy"]
    assert await names(q="b") == ["bob"]
    assert await names(isActive="false") == ["bob"]
    assert await names(role="admin") == ["cy"]
    page = (await server.http.get(USERS, params={"limit": 2})).json()
    assert page["nextCursor"] == "bob"
    assert await names(cursor="bob") == ["cy"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"username": "x", "password": "short"}, 400),
        ({"username": "", "password": PASSWORD}, 400),
        ({"username": "a/b", "password": PASSWORD}, 400),
        ({"username": "x", "password": PASSWORD, "roles": ["king"]}, 400),
        ({"username": "x"}, 400),
        ({"username": "ada", "password": PASSWORD}, 409),
    ],
)
async def test_a_user_that_makes_no_sense_is_refused(
    server: LinkServer, body: Json, status: int
) -> None:
    await add(server, "ada", "run.viewer")
    answer = await server.http.post(USERS, json=body)
    assert answer.status_code == status, answer.text
    assert len((await server.http.get(USERS)).json()["items"]) == 1


@pytest.mark.parametrize("bad", ["a.b.c", "eyJhbGciOiJub25lIn0.e30.", "x" * 5000 + ".."])
async def test_a_forged_session_is_no_session(server: LinkServer, bad: str) -> None:
    headers = {"Authorization": f"Bearer {bad}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers) as forger:
        assert (await forger.get("/api/v1/runs")).status_code == 401


async def test_sign_ins_that_fail_are_written_down_without_what_was_typed(
    server: LinkServer,
) -> None:
    made = await add(server, "ada", "workflow.editor")
    assert (await sign_in(server, "ada", "not the password")).status_code == 401
    assert (await sign_in(server, PASSWORD, PASSWORD)).status_code == 401
    query = {"action": "auth.refused"}
    answer = await server.http.get("/api/v1/audit-events", params=query)
    found = answer.json()["items"]
    assert [event["targetId"] for event in found] == ["", made["userId"]]
    assert {event["actorId"] for event in found} == {"nobody"}
    assert found[0]["metadata"]["address"]
    assert PASSWORD not in answer.text


async def test_what_people_change_is_written_down(server: LinkServer) -> None:
    await add(server, "ada", "admin")
    async with await signed_in(server, "ada") as ada:
        await ada.post("/api/v1/workflows", json=chain("noted", "demo.a"))
        await ada.post("/api/v1/tokens", json={"name": "t", "role": "viewer"})
        at = "/api/v1/audit-events"
        mine = (await ada.get(at, params={"actorId": "ada"})).json()["items"]
        did = ["token.create", "workflow.keep", "auth.login"]
        assert [event["action"] for event in mine] == did
        assert mine[0]["metadata"] == {"name": "t", "role": "viewer"}
        only = (await ada.get(at, params={"action": "user.create"})).json()["items"]
        assert [event["actorId"] for event in only] == ["bootstrap"]
        kinds = (await ada.get(at, params={"targetType": "workflow"})).json()["items"]
        assert len(kinds) == 1
        page = (await ada.get(at, params={"limit": 2})).json()
        rest = (await ada.get(at, params={"cursor": page["nextCursor"]})).json()
        assert [event["action"] for event in rest["items"]] == ["auth.login", "user.create"]
    viewer = await token(server, "viewer")
    assert (await viewer.get("/api/v1/audit-events")).status_code == 403
    await viewer.aclose()


async def test_the_first_admin_is_made_on_the_command_line(server: LinkServer) -> None:
    async def windlass(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "windlass", *args]
        env = {"WINDLASS_URL": server.url, "WINDLASS_TOKEN": TOKEN, "PATH": "/usr/bin"}
        return await asyncio.to_thread(
            subprocess.run, command, input=text, text=True, capture_output=True, env=env
        )

    made = await windlass(
        "user", "create", "root", "--role", "admin", "--password-stdin", text=f"{PASSWORD}\n"
    )
    assert made.returncode == 0, made.stderr
    assert (await sign_in(server, "root")).status_code == 200
    assert "root" in (await windlass("user", "ls")).stdout
    changed = await windlass("user", "passwd", "root", "--password-stdin", text="one more word\n")
    assert changed.returncode == 0, changed.stderr
    assert (await sign_in(server, "root", "one more word")).status_code == 200
    assert (await windlass("user", "disable", "root")).returncode == 0
    assert (await sign_in(server, "root", "one more word")).status_code == 401
    short = await windlass("user", "passwd", "root", "--password-stdin", text="short\n")
    assert short.returncode != 0
