"""Every operation of the API, once: what to ask and what the answer is.

Both clients get their methods from these functions, so their signatures are the SDK's reference.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from windlass.client.paths import API, listing, path_part, post, run_path
from windlass.client.requests import ApiCall, Ignored, encode
from windlass.client.shapes import (
    AttemptInfo,
    BulkDone,
    CheckpointInfo,
    CommandInfo,
    EventInfo,
    FlowInfo,
    LimitInfo,
    LimitRuleInfo,
    PackageInfo,
    Page,
    Published,
    Redone,
    RevisionInfo,
    RunInfo,
    ServerInfo,
    TaskInfo,
    TenantInfo,
    TokenInfo,
    Validated,
    VersionInfo,
    Why,
    WorkerInfo,
)
from windlass.client.user_shapes import UserInfo, UserPage
from windlass.model.errors import BadRequest
from windlass.model.flow_names import flaw_of_name


class Compiles(Protocol):
    """A flow written in Python."""

    @property
    def name(self) -> str: ...

    def compile(self) -> dict[str, Any]: ...


Definition = Mapping[str, Any] | str
"""An object, or YAML or JSON text."""


def publish(
    flow: str | Compiles,
    definition: Definition | None = None,
    *,
    description: str = "",
    status: str = "published",
) -> ApiCall[Published]:
    """Publish a definition as the flow's next version, or find that it is the newest already."""
    name = flow if isinstance(flow, str) else flow.name
    if definition is None:
        if isinstance(flow, str):
            raise ValueError("give a definition, or a Flow that has one")
        definition = flow.compile()
    # Of an address with "." as a part nothing would be left for the server to refuse.
    if isinstance(definition, str) or not is_workflow(definition):
        check_name(name)
    path = f"{API}/flows/{path_part(name)}/versions"
    if isinstance(definition, str):
        if description or status != "published":
            raise ValueError("text travels alone; give an object to add a description or status")
        # Text goes as it is: the server reads both spellings and names lines in its problems.
        return ApiCall(
            "POST", path, Published, body=definition.encode(), content_type="application/yaml"
        )
    body: dict[str, Any] = {"definition": definition, "status": status}
    if is_workflow(definition):
        # It brings its own name along; the path may only say its id once more.
        body["dialect"] = "workflow"
        path = f"{API}/flows/{path_part(str(definition.get('id')))}/versions"
    if description:
        body["description"] = description
    return ApiCall("POST", path, Published, body=encode(body))


def validate(definition: Definition | Compiles) -> ApiCall[Validated]:
    """Check a definition without publishing it; raises DefinitionError with every problem."""
    path = f"{API}/flows/validate"
    if isinstance(definition, str):
        return ApiCall(
            "POST", path, Validated, body=definition.encode(), content_type="application/yaml"
        )
    plain = definition if isinstance(definition, Mapping) else definition.compile()
    dialect = "workflow" if is_workflow(plain) else "flow"
    return ApiCall("POST", path, Validated, body=encode({"definition": plain, "dialect": dialect}))


def check_name(name: str) -> None:
    if flaw := flaw_of_name(name):
        raise BadRequest(flaw)


def is_workflow(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is a port graph: it lists its nodes, where a flow names them."""
    return "schemaVersion" in definition and isinstance(definition.get("nodes"), list)


def flows(q: str = "", *, limit: int = 50, cursor: str | int = "") -> ApiCall[Page[FlowInfo]]:
    return ApiCall("GET", f"{API}/flows", Page[FlowInfo], listing(limit, cursor, q=q))


def flow(name: str) -> ApiCall[FlowInfo]:
    return ApiCall("GET", f"{API}/flows/{path_part(name)}", FlowInfo)


def versions(name: str) -> ApiCall[Page[VersionInfo]]:
    return ApiCall("GET", f"{API}/flows/{path_part(name)}/versions", Page[VersionInfo])


def version(name: str, number: int) -> ApiCall[VersionInfo]:
    return ApiCall("GET", f"{API}/flows/{path_part(name)}/versions/{number}", VersionInfo)


def start(
    flow: str,
    params: object = None,
    *,
    key: str = "",
    version: int | None = None,
    tags: Mapping[str, str] | None = None,
    priority: int = 0,
    budget: Mapping[str, Any] | None = None,
    project: str = "",
) -> ApiCall[RunInfo]:
    """Start a run; the same `key` again finds the run it started before."""
    body: dict[str, Any] = {"flow": flow, "params": {} if params is None else params}
    if version is not None:
        body["version"] = version
    if tags:
        body["tags"] = dict(tags)
    if priority:
        body["priority"] = priority
    if budget:
        body["budget"] = dict(budget)
    if project:
        body["project"] = project
    headers = {"Idempotency-Key": key} if key else {}
    return ApiCall("POST", f"{API}/runs", RunInfo, body=encode(body), headers=headers)


def runs(q: str = "", *, limit: int = 50, cursor: str | int = "") -> ApiCall[Page[RunInfo]]:
    """Runs by filter, newest first: `status:failed flow:review-* started:>-2h`."""
    return ApiCall("GET", f"{API}/runs", Page[RunInfo], listing(limit, cursor, q=q))


def get_run(run_id: str, wait_ms: int = 0) -> ApiCall[RunInfo]:
    """A run; with `wait_ms` the server answers when it has ended, or after that time."""
    query: dict[str, str | int] = {"waitMs": wait_ms} if wait_ms else {}
    return ApiCall("GET", run_path(run_id), RunInfo, query, wait_s=wait_ms / 1000)


def tasks(
    run_id: str, *, state: str = "", limit: int = 100, cursor: str | int = ""
) -> ApiCall[Page[TaskInfo]]:
    query = listing(limit, cursor, state=state)
    return ApiCall("GET", f"{run_path(run_id)}/tasks", Page[TaskInfo], query)


def attempts(
    run_id: str, *, task: str = "", limit: int = 200, cursor: str | int = ""
) -> ApiCall[Page[AttemptInfo]]:
    """Attempts with their logs, of a run or of one of its tasks by id."""
    query = listing(limit, cursor, task=task)
    return ApiCall("GET", f"{run_path(run_id)}/attempts", Page[AttemptInfo], query)


def history(run_id: str, *, after: int = 0, limit: int = 500) -> ApiCall[Page[EventInfo]]:
    """A page of a run's events."""
    query: dict[str, str | int] = {"after": after, "limit": limit}
    return ApiCall("GET", f"{run_path(run_id)}/events", Page[EventInfo], query)


def revisions(
    run_id: str, *, limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[RevisionInfo]]:
    """How a run's graph has grown, oldest first."""
    query = listing(limit, cursor)
    return ApiCall("GET", f"{run_path(run_id)}/revisions", Page[RevisionInfo], query)


def why(run_id: str) -> ApiCall[Why]:
    """What the run waits for, who holds it and until when."""
    return ApiCall("GET", f"{run_path(run_id)}/why", Why)


def delete(run_id: str) -> ApiCall[Ignored]:
    """Delete a run that has ended, with everything that is kept of it."""
    return ApiCall("DELETE", run_path(run_id), Ignored)


def set_priority(run_id: str, priority: int) -> ApiCall[Ignored]:
    """Let what waits of the run go before others (higher) or after them."""
    return post(f"{run_path(run_id)}/priority", Ignored, {"priority": priority})


def cancel(run_id: str, reason: str = "") -> ApiCall[Ignored]:
    return post(f"{run_path(run_id)}/cancel", Ignored, {"reason": reason} if reason else {})


def signal(run_id: str, key: str, value: object = None) -> ApiCall[Ignored]:
    """Give a waiting run a value."""
    return post(f"{run_path(run_id)}/signal", Ignored, {"key": key, "value": value})


def retry(
    run_id: str, task: str | None = None, *, from_: bool = False, dry_run: bool = False
) -> ApiCall[Redone]:
    """Try a failed task again; with `from_`, it and everything after it."""
    body: dict[str, Any] = {"from": from_, "dryRun": dry_run}
    if task is not None:
        body["task"] = task
    return post(f"{run_path(run_id)}/retry", Redone, body)


def rerun(run_id: str) -> ApiCall[RunInfo]:
    """Start a new run with the same flow version and input."""
    return post(f"{run_path(run_id)}/rerun", RunInfo, {})


def bulk(action: str, q: str, *, dry_run: bool = False) -> ApiCall[BulkDone]:
    """Cancel or retry every run a filter finds."""
    body = {"action": action, "q": q, "dryRun": dry_run}
    return post(f"{API}/runs/bulk", BulkDone, body)


def inbox(
    *, state: str = "open", run: str = "", limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[CheckpointInfo]]:
    """What waits for a person, in every run or in one."""
    query = listing(limit, cursor, state=state, run=run)
    return ApiCall("GET", f"{API}/checkpoints", Page[CheckpointInfo], query)


def checkpoint(checkpoint_id: str) -> ApiCall[CheckpointInfo]:
    return ApiCall("GET", f"{API}/checkpoints/{path_part(checkpoint_id)}", CheckpointInfo)


def answer(checkpoint_id: str, value: object, *, note: str = "") -> ApiCall[Ignored]:
    """Answer a checkpoint; Conflict if somebody already has."""
    body = {"answer": value, "note": note} if note else {"answer": value}
    return post(f"{API}/checkpoints/{path_part(checkpoint_id)}/resolve", Ignored, body)


def approve(checkpoint_id: str, *, note: str = "") -> ApiCall[Ignored]:
    return answer(checkpoint_id, "approved", note=note)


def reject(checkpoint_id: str, *, note: str = "") -> ApiCall[Ignored]:
    return answer(checkpoint_id, "rejected", note=note)


def workers(*, limit: int = 100, cursor: str | int = "") -> ApiCall[Page[WorkerInfo]]:
    return ApiCall("GET", f"{API}/workers", Page[WorkerInfo], listing(limit, cursor))


def command(worker_id: str, type_: str, **fields: str) -> ApiCall[CommandInfo]:
    """Send a command to a worker on the link: drain, undrain, pkg.install, pkg.uninstall."""
    return post(
        f"{API}/workers/{path_part(worker_id)}/commands", CommandInfo, {"type": type_} | fields
    )


def rebind(run_id: str, worker_id: str | None = None) -> ApiCall[Ignored]:
    """Send what a run has waiting for its worker to another one, or to any other."""
    body = {"workerId": worker_id} if worker_id else {}
    return post(f"{API}/scheduler/runs/{path_part(run_id)}/rebind", Ignored, body)


def publish_package(archive: bytes) -> ApiCall[PackageInfo]:
    """Publish a package's archive; the same one again changes nothing."""
    path = f"{API}/published-packages"
    return ApiCall("POST", path, PackageInfo, body=archive, content_type="application/zip")


def packages(q: str = "", *, limit: int = 50, cursor: str | int = "") -> ApiCall[Page[PackageInfo]]:
    return ApiCall("GET", f"{API}/packages", Page[PackageInfo], listing(limit, cursor, q=q))


def package(name: str, version: str = "") -> ApiCall[PackageInfo]:
    """A package with its manifest; the newest version unless one is named."""
    query: dict[str, str | int] = {"version": version} if version else {}
    return ApiCall("GET", f"{API}/packages/{path_part(name)}", PackageInfo, query)


def set_package_status(name: str, version: str, status: str) -> ApiCall[PackageInfo]:
    """Deprecate a version, yank it, or make it active again."""
    path = f"{API}/published-packages/{path_part(name)}/versions/{path_part(version)}"
    return ApiCall("PATCH", path, PackageInfo, body=encode({"status": status}))


def set_package_tag(name: str, tag: str, version: str) -> ApiCall[PackageInfo]:
    """Let a tag point at a version; `latest` is what is taken where none is named."""
    path = f"{API}/published-packages/{path_part(name)}/tags/{path_part(tag)}"
    return ApiCall("PUT", path, PackageInfo, body=encode({"version": version}))


def create_token(
    name: str,
    role: str,
    *,
    expires_in_s: int | None = None,
    fingerprint: str = "",
    workers: str = "",
    tenant: str = "",
) -> ApiCall[TokenInfo]:
    """Make a token, or let a client certificate stand for one. `workers` names the only worker it
    may act for, or `prefix*`; `tenant` is where it acts, `*` wherever it is told to."""
    body: dict[str, Any] = {"name": name, "role": role}
    if tenant:
        body["tenant"] = tenant
    if fingerprint:
        body["fingerprint"] = fingerprint
    if workers:
        body["workers"] = workers
    if expires_in_s is not None:
        body["expiresInS"] = expires_in_s
    return post(f"{API}/tokens", TokenInfo, body)


def create_tenant(name: str, *, description: str = "") -> ApiCall[TenantInfo]:
    """Add a tenant; this is for operators of the whole system."""
    return post(f"{API}/tenants", TenantInfo, {"name": name, "description": description})


def set_tenant_weight(name: str, weight: int) -> ApiCall[TenantInfo]:
    """Say how much of what is free a tenant gets, beside the others."""
    body = encode({"weight": weight})
    return ApiCall("PATCH", f"{API}/tenants/{path_part(name)}", TenantInfo, body=body)


def tenants(*, limit: int = 100, cursor: str | int = "") -> ApiCall[Page[TenantInfo]]:
    return ApiCall("GET", f"{API}/tenants", Page[TenantInfo], listing(limit, cursor))


def limits(
    *, prefix: str = "", key: str = "", limit: int = 100, cursor: str | int = ""
) -> ApiCall[Page[LimitInfo]]:
    """Keys in use: one, or those that begin so."""
    query = listing(limit, cursor, prefix=prefix, key=key)
    return ApiCall("GET", f"{API}/limits", Page[LimitInfo], query)


def limit_rules(*, limit: int = 100, cursor: str | int = "") -> ApiCall[Page[LimitRuleInfo]]:
    return ApiCall("GET", f"{API}/limit-rules", Page[LimitRuleInfo], listing(limit, cursor))


def set_limit(
    pattern: str,
    *,
    max: float | None = None,  # noqa: A002  the word of the definition
    rate: int | None = None,
    per_s: float = 1.0,
    burst: int | None = None,
    budget: float | None = None,
    trip_after: int | None = None,
    reset_s: float = 30.0,
) -> ApiCall[LimitRuleInfo]:
    """Say what a key allows, or all that begin so (`bank:*`), whatever definitions say."""
    body = {"pattern": pattern, "max": max, "rate": rate, "perS": per_s, "burst": burst}
    body |= {"budget": budget, "tripAfter": trip_after, "resetS": reset_s}
    return ApiCall("PUT", f"{API}/limit-rules", LimitRuleInfo, body=encode(body))


def remove_limit(pattern: str) -> ApiCall[Ignored]:
    """Let definitions say again what keys allow."""
    return ApiCall("DELETE", f"{API}/limit-rules", Ignored, {"pattern": pattern})


def tokens() -> ApiCall[Page[TokenInfo]]:
    return ApiCall("GET", f"{API}/tokens", Page[TokenInfo])


def revoke_token(token_id: str) -> ApiCall[Ignored]:
    return ApiCall("DELETE", f"{API}/tokens/{path_part(token_id)}", Ignored)


def users(q: str = "", *, limit: int = 50, cursor: str | int = "") -> ApiCall[UserPage]:
    return ApiCall("GET", f"{API}/users", UserPage, listing(limit, cursor, q=q))


def create_user(
    username: str, password: str, *, roles: Sequence[str] = (), display_name: str = ""
) -> ApiCall[UserInfo]:
    """Add somebody who signs in with a password."""
    body = {"username": username, "password": password, "roles": list(roles)}
    if display_name:
        body["displayName"] = display_name
    return post(f"{API}/users", UserInfo, body)


def set_password(user: str, password: str) -> ApiCall[Ignored]:
    """Give a user, by id or name, another password; their sessions end."""
    return post(f"{API}/users/{path_part(user)}/password", Ignored, {"password": password})


def set_active(user: str, active: bool) -> ApiCall[UserInfo]:
    """Disable a user, by id or name, or take that back."""
    body = encode({"isActive": active})
    return ApiCall("PATCH", f"{API}/users/{path_part(user)}/status", UserInfo, body=body)


def info() -> ApiCall[ServerInfo]:
    return ApiCall("GET", f"{API}/info", ServerInfo)
