"""Who did what is written down in the commit that does it, or not at all.

The paths come from the server's own table: one that changes something and is neither tried here nor
named as leaving no line, with the reason, fails the last test.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.packages import archive
from tests.workflows import node, workflow
from windlass.drivers.blobs.files import FileBlobs
from windlass.engine.attempts import Attempts
from windlass.engine.workers import register_link
from windlass.model.access import Audit
from windlass.model.rows import Binding, Failure, Resource, Run
from windlass.server.app import NATIVE, AppOptions, create_app
from windlass.server.commands import Commands
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.server.link.plane import LinkPlane, LinkSettings
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
WAITS: Json = {
    "start": "a",
    "nodes": {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}},
    "edges": [],
}
ASKS: Json = {
    "start": "a",
    "nodes": {"a": {"kind": "approval", "params": {"approval_key": "$shared.ok"}}},
    "edges": [],
}
CALLS: Json = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "s", "max_retries": 0}},
    "edges": [],
}
NO_LINE = {
    "POST /api/v1/flows/validate": "changes nothing",
    "POST /api/v1/runs": "the run is the record",
    "POST /tasks": "the run is the record",
    "POST /orchestration/runs": "the run is the record",
    "POST /orchestration/env-resources": "not served",
    "POST /orchestration/container-images": "not served",
    "POST /tasks/run_once": "changes nothing",
    "PUT /api/v1/resources/uploads/{upload_id}/parts/{number}": "counts only once it is complete",
    "POST /api/v1/auth/refresh": "whoever signed in goes on",
    **dict.fromkeys(
        (
            "POST /api/v1/workers",
            "POST /api/v1/workers/register",
            "POST /api/v1/workers/heartbeat",
            "POST /api/v1/workers/{id}/exchange",
            "POST /api/v1/workers/{id}/actions",
            "POST /api/v1/workers/{id}/actions/end",
            "POST /api/v1/workers/{id}/blackboard",
            "POST /api/v1/workers/{id}/blackboard/read",
            "DELETE /api/v1/workers/{id}",
            "POST /workers/register",
            "POST /workers/heartbeat",
            "POST /register",
            "POST /heartbeat",
            "POST /queue/poll",
            "POST /queue/complete",
            "POST /queue/heartbeat",
            "POST /queue/update_run",
        ),
        "work, not steering: the run's own history has it",
    ),
}
tried: set[str] = set()


class Said:
    """An API over an engine in memory, and how many commits a call to it takes."""

    def __init__(self, local: LocalEngine, http: httpx.AsyncClient) -> None:
        self.local = local
        self.http = http
        self.answer: Any = None

    async def act(
        self, route: str, body: object = None, *, content: bytes | None = None, **given: Any
    ) -> tuple[int, list[str]]:
        """The commits of a call, and the actions it left in the audit trail."""
        tried.add(route)
        method, path = route.split()
        query = given.pop("query", "")
        before = self.local.database.commits
        known = set(self.local.database.table(Audit))
        sent: Json = {"content": content} if content is not None else {"json": body}
        answer = await self.http.request(method, path.format(**given) + query, **sent)
        assert answer.status_code < 400, answer.text
        self.answer = answer.json() if answer.content else None
        lines = self.local.database.table(Audit)
        actions = [row.action for key, row in lines.items() if key not in known]
        return self.local.database.commits - before, actions


@asynccontextmanager
async def api(folder: Path = Path("/nonexistent"), admin: str = "") -> AsyncIterator[Said]:
    async with local_engine({}) as local:
        engine, attempts = local.engine, Attempts(local.engine)
        link = LinkPlane(engine, attempts, LinkSettings())
        app = create_app(
            engine,
            attempts,
            AppOptions(auth_required=bool(admin), admin_token=admin),
            link=link,
            commands=Commands(engine, link),
            blobs=FileBlobs(folder),
        )
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            http.headers["Authorization"] = f"Bearer {admin}" if admin else ""
            yield Said(local, http)


async def fail_next(said: Said) -> None:
    """Have the call that waits longest fail for good."""
    work = Attempts(said.local.engine)
    [given] = await work.claim("w", ["pull:s"], 1, 5)
    await work.failed(given.attempt_id, Failure("failed", "no"))


RUN = "/api/v1/runs/{id}"


async def test_a_signal_a_cancel_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        signal = await said.act(f"POST {RUN}/signal", {"key": "x", "value": 1}, id=run)
        assert signal == (1, ["run.signal"])
        assert await said.act(f"POST {RUN}/cancel", {}, id=run) == (1, ["run.cancel"])


async def test_an_answer_and_its_line_are_one_commit() -> None:
    async with api() as said:
        run = await said.local.start(ASKS)
        path = "POST /api/v1/checkpoints/{id}/resolve"
        done = await said.act(path, {"answer": "approved"}, id=run)
        assert done == (1, ["checkpoint.answer"])


async def test_a_retry_a_rerun_a_deletion_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        await fail_next(said)
        assert await said.act(f"POST {RUN}/retry", {}, id=run) == (1, ["run.retry"])
        await fail_next(said)
        assert await said.act(f"POST {RUN}/rerun", id=run) == (1, ["run.rerun"])
        again = said.answer["id"]
        [line] = [r for r in said.local.database.table(Audit).values() if r.action == "run.rerun"]
        assert (line.target_id, line.detail) == (again, f'{{"of":"{run}"}}')
        assert await said.act(f"POST {RUN}/fork", {"task": "a"}, id=run) == (1, ["run.fork"])
        assert (await said.act(f"DELETE {RUN}", id=run))[1] == ["run.delete"]


async def test_a_rerun_under_a_known_key_leaves_no_second_line() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        said.http.headers["Idempotency-Key"] = "k"
        assert await said.act(f"POST {RUN}/rerun", id=run) == (1, ["run.rerun"])
        assert await said.act(f"POST {RUN}/rerun", id=run) == (0, [])


async def test_another_priority_and_its_line_are_one_commit_and_the_same_is_none() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        for expected in ((1, ["run.priority"]), (0, [])):
            assert await said.act(f"POST {RUN}/priority", {"priority": 5}, id=run) == expected


@pytest.mark.parametrize("action", ["cancel", "retry"])
async def test_each_run_of_a_bulk_action_has_its_line_in_its_own_commit(action: str) -> None:
    async with api() as said:
        runs = [await said.local.start(CALLS) for _ in range(3)]
        if action == "retry":
            for _ in runs:
                await fail_next(said)
        body = {"action": action, "q": "flow:*"}
        dry = await said.act("POST /api/v1/runs/bulk", {**body, "dryRun": True})
        assert dry == (0, []), "counting changes nothing"
        done = await said.act("POST /api/v1/runs/bulk", body)
        assert done == (3, [f"run.{action}"] * 3)
        lines = said.local.database.table(Audit).values()
        assert {line.target_id for line in lines} == set(runs)
        assert {line.detail for line in lines} == {'{"bulk":"flow:*"}'}
        again = await said.act("POST /api/v1/runs/bulk", body)
        assert again[1] == [], "what was refused left no line"


async def test_a_version_and_its_line_are_one_commit_and_the_same_again_is_none() -> None:
    async with api() as said:

        async def push(definition: Json) -> tuple[int, list[str]]:
            path = "POST /api/v1/flows/{name}/versions"
            return await said.act(path, {"definition": definition}, name="f")

        assert (await push(WAITS))[1] == ["flow.publish"]
        assert await push(ASKS) == (1, ["flow.publish"])
        assert await push(ASKS) == (0, [])


async def test_a_workflow_that_is_kept_and_deleted_leaves_a_line_each(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        body = workflow([node("a")])
        assert (await said.act("POST /api/v1/workflows", body))[1] == ["workflow.keep"]
        one = said.answer["workflowId"]
        preview = await said.act(
            "PUT /api/v1/workflows/{id}/preview", {"previewImage": "eA=="}, id=one
        )
        assert preview == (1, ["workflow.preview"])
        done = await said.act("DELETE /api/v1/workflows/{id}", id=one)
        assert done == (1, ["workflow.delete"])


async def test_a_file_and_its_lines_are_one_commit_each(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        whole = await said.act("POST /api/v1/resources", content=b"abc", query="?filename=a.txt")
        assert whole == (1, ["resource.upload"])
        gone = await said.act("DELETE /api/v1/resources/{id}", id=said.answer["resourceId"])
        assert gone == (1, ["resource.delete"])
        at = "/api/v1/resources/uploads"
        for end in ("complete", "abort"):
            opened = await said.act(f"POST {at}", {"filename": "b.txt", "sizeBytes": 3})
            assert opened == (1, ["resource.begin"])
            upload = said.answer["uploadId"]
            part = await said.act(
                f"PUT {at}/{{upload_id}}/parts/{{number}}",
                content=b"abc",
                upload_id=upload,
                number="0",
            )
            assert part == (0, [])
            if end == "abort":
                path = f"DELETE {at}/{{upload_id}}"
                assert await said.act(path, upload_id=upload) == (1, ["resource.abort"])
                continue
            path = f"POST {at}/{{upload_id}}/complete"
            assert await said.act(path, {}, upload_id=upload) == (1, ["resource.upload"])
            assert await said.act(path, {}, upload_id=upload) == (0, []), "it is complete already"
        assert {row.state for row in said.local.database.table(Resource).values()} == {
            "complete",
            "aborted",
        }


async def test_what_is_done_to_a_package_and_its_line_are_one_commit(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        at = "/api/v1/published-packages"
        route = f"{at}/{{name}}"
        published = await said.act(f"POST {at}", content=archive())
        assert published == (1, ["package.publish"])
        changes = {
            f"PATCH {route}/versions/{{version}}": ({"status": "deprecated"}, "package.status"),
            f"PUT {route}/tags/{{tag}}": ({"version": "1.0.0"}, "package.tag"),
            f"DELETE {route}/tags/{{tag}}": (None, "package.tag"),
            f"PATCH {route}/visibility": ({"visibility": "private"}, "package.visibility"),
            f"POST {route}/transfer": ({"ownerId": "eve"}, "package.transfer"),
        }
        for path, (body, action) in changes.items():
            done = await said.act(path, body, name="tools", version="1.0.0", tag="beta")
            assert done == (1, [action]), path


async def test_what_is_done_to_people_tokens_tenants_and_limits_is_one_commit_with_its_line() -> (
    None
):
    async with api(admin="admin's token") as said:
        user = {"username": "eve", "password": "a long password", "roles": ["run.viewer"]}
        assert await said.act("POST /api/v1/users", user) == (1, ["user.create"])
        one = said.answer["userId"]
        changes: dict[str, tuple[Json | None, str]] = {
            "POST /api/v1/users/{id}/password": ({"password": "another long one"}, "user.password"),
            "POST /api/v1/users/{id}/roles": ({"role": "workflow.viewer"}, "user.role.add"),
            "DELETE /api/v1/users/{id}/roles/{role}": (None, "user.role.drop"),
            "PATCH /api/v1/users/{id}/status": ({"isActive": True}, "user.status"),
            "PUT /api/v1/limit-rules": ({"pattern": "db", "max": 3}, "limit.set"),
            "POST /api/v1/tenants": ({"name": "red"}, "tenant.create"),
            "PATCH /api/v1/tenants/{name}": ({"weight": 2}, "tenant.weight"),
            "POST /api/v1/tokens": ({"name": "ci", "role": "viewer"}, "token.create"),
        }
        for path, (body, action) in changes.items():
            done = await said.act(path, body, id=one, role="workflow.viewer", name="red")
            assert done == (1, [action]), path
        revoked = await said.act("DELETE /api/v1/tokens/{id}", id=said.answer["id"])
        assert revoked == (1, ["token.revoke"])
        rule = await said.act("DELETE /api/v1/limit-rules", query="?pattern=db")
        assert rule == (1, ["limit.remove"])
        login = {"username": "eve", "password": "another long one"}
        assert await said.act("POST /api/v1/auth/login", login) == (1, ["auth.login"])
        said.http.headers["Authorization"] = f"Bearer {said.answer['accessToken']}"
        profile = await said.act("PATCH /api/v1/users/me", {"displayName": "Eve"})
        assert profile == (1, ["user.profile"])


async def test_a_command_and_its_line_are_one_commit_and_each_run_it_moves_has_its_own() -> None:
    async with api() as said:
        engine = said.local.engine
        for name in ("old", "new"):
            made = await register_link(engine, name, packages=[], capacity=1, meta="{}")
            await engine.write(changed=(replace(made, state="online"),))
        path = "POST /api/v1/workers/{id}/commands"
        done = await said.act(path, {"type": "drain"}, id="new")
        assert done == (1, ["worker.drain"])
        run_id = await said.local.start(WAITS)
        run = said.local.database.table(Run)[run_id]
        bound = Binding(run_id=run.id, package="kit", worker_id="old", bound_at=run.created_at)
        await engine.write(bound)
        commits, actions = await said.act(path, {"type": "rebind"}, id="old")
        assert actions == ["run.rebind", "worker.rebind"]
        assert commits == 3, "the run moved; the worker to be told; the command kept"
        await engine.write(bound)
        moved = await said.act("POST /api/v1/scheduler/runs/{id}/rebind", {}, id=run.id)
        assert moved[1] == ["run.rebind"]


async def test_pocketflows_acts_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        assert await said.act("POST /flows", {"Name": "f"}) == (1, ["flow.create"])
        version = {"FlowID": said.answer["id"], "DefinitionJSON": WAITS, "Status": "published"}
        assert await said.act("POST /flows/version", version) == (1, ["flow.publish"])
        assert await said.act("POST /tasks", {"FlowID": version["FlowID"]}) == (1, [])
        task = said.answer["id"]
        signal = {"task_id": task, "key": "x", "value": 1}
        assert await said.act("POST /tasks/signal", signal) == (1, ["run.signal"])
        cancel = await said.act("POST /tasks/cancel", query=f"?id={task}")
        assert cancel == (1, ["run.cancel"])
        assert await said.act("POST /tasks/signal", signal) == (0, []), "nothing comes of it"


async def plan_of_three(said: Said) -> str:
    """A run of a plan whose tasks wait for a worker."""
    tasks = [{"alias": alias, "goal": "g"} for alias in ("a", "b", "c")]
    body = {"dialect": "plan", "goal": "g", "plan": {"tasks": tasks}}
    made = await said.http.post("/api/v1/runs", json=body)
    assert made.status_code == 202, made.text
    return str(made.json()["id"])


QUESTION: Json = {"question": "Sure?", "options": [{"id": "y", "kind": "choice", "label": "Yes"}]}
HINT: Json = {"kind": "constraint_update", "summary": "s", "details": {"a": 1}}


async def test_steering_a_plan_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await plan_of_three(said)
        assert await said.act(f"POST {RUN}/hints", HINT, id=run) == (1, ["run.hint"])
        task = f"POST {RUN}/tasks/{{task}}"
        asked = await said.act(f"{task}/checkpoints", QUESTION, id=run, task="a")
        assert asked == (1, ["checkpoint.ask"])
        cancelled = await said.act(f"{task}/cancel", {}, id=run, task="b")
        assert cancelled == (1, ["task.cancel"])


async def test_an_approval_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await plan_of_three(said)
        path = f"POST {RUN}/tasks/{{task}}/approvals"
        given = await said.act(path, {"reason": "right"}, id=run, task="a")
        assert given == (1, ["approval.give"])
        gone = await said.act(
            f"DELETE {RUN}/approvals/{{approval}}", id=run, approval=said.answer["id"]
        )
        assert gone == (1, ["approval.revoke"])
        at = "/orchestration/runs/{run_id}/tasks/{task_id}/approvals"
        named: Json = {"run_id": run, "task_id": f"{run}~plan.0~a.0"}
        body = {"reason": "right", "effect_class": "external_irreversible", "idempotency_key": "k"}
        assert await said.act(f"POST {at}", body, **named) == (1, ["approval.give"])
        made = said.answer["id"]
        assert await said.act(f"POST {at}", body, **named) == (0, []), "the same again is the same"
        assert (said.answer["id"], said.answer["token"]) == (made, None)
        gone = await said.act(f"DELETE {at}/{{approval_id}}", approval_id=made, **named)
        assert gone == (1, ["approval.revoke"])


async def test_what_is_done_on_the_orchestration_surface_and_its_lines_are_one_commit_each() -> (
    None
):
    async with api() as said:
        run = await plan_of_three(said)
        at = "POST /orchestration/runs/{run_id}"
        given: Json = {"run_id": run, "task_id": f"{run}~plan.0~a.0"}
        for number, (path, body, action) in enumerate(
            (
                (f"{at}/hints", {"hint": HINT}, "run.hint"),
                (f"{at}/tasks/{{task_id}}/checkpoints", QUESTION, "checkpoint.ask"),
            )
        ):
            keyed = {**body, "idempotency_key": f"k{number}"}
            assert await said.act(path, keyed, **given) == (1, [action]), path
            assert await said.act(path, keyed, **given) == (0, []), "the same again is the same"
        answer = {"idempotency_key": "k7", "mode": "select_option", "option_id": "y"}
        resolved = await said.act(
            "POST /orchestration/checkpoints/{checkpoint_id}/resolve",
            answer,
            checkpoint_id=said.answer["checkpoint"]["id"],
        )
        assert resolved == (1, ["checkpoint.answer"])
        work = Attempts(said.local.engine)
        [held] = await work.claim("w", ["pull:llm.default"], 1, 5)
        await work.failed(held.attempt_id, Failure("fatal", "no"))
        given = {"run_id": run, "task_id": held.task_id}
        task = f"{at}/tasks/{{task_id}}"
        retried = await said.act(f"{task}/retry", {"idempotency_key": "k8"}, **given)
        assert retried == (1, ["run.retry"])
        cancelled = await said.act(f"{task}/cancel", {"idempotency_key": "k9"}, **given)
        assert cancelled == (1, ["task.cancel"])
        again = await said.act(f"{at}/blackboard/rebuild", {}, run_id=run)
        assert again == (1, ["blackboard.rebuild"])
        whole = await said.act(f"{at}/cancel", {"idempotency_key": "k10"}, run_id=run)
        assert whole == (1, ["run.cancel"])


async def test_what_is_done_with_dead_letters_and_its_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        for act in ("replay", "drop"):
            await fail_next(said)
            done = await said.act(f"POST /api/v1/dead-letters/{act}", {"run": run})
            assert done == (1, [f"dead.{act}"])


async def test_nothing_that_changes_something_is_left_out_here() -> None:
    """The last of this file: by now the others have tried theirs."""
    changing = {
        f"{route.method} {route.path}"
        for route in (*NATIVE, *memoh.ROUTES, *pocketflow.ROUTES)
        if route.method != "GET" and (route not in pocketflow.ROUTES or "/api" not in route.path)
    }
    if not tried:
        pytest.skip("needs the other tests of this file to have run before")
    assert changing - tried == set(NO_LINE) - tried
    assert not set(NO_LINE) - changing
