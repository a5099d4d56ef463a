"""The paths of this surface."""

from windlass.server.compat.memoh import approvals, changing, envs, images, reading, runs
from windlass.server.compat.memoh.wire import message
from windlass.server.routes import Handler, Route

_RUN = "/runs/{run_id}"
_TASK = _RUN + "/tasks/{task_id}"
_READS: list[tuple[str, Handler]] = [
    ("/runs", runs.list_runs),
    ("/bots/{bot_id}/runs", runs.list_runs),
    (f"{_RUN}/snapshot", runs.snapshot),
    (f"{_RUN}/tasks", reading.list_tasks),
    (f"{_RUN}/checkpoints", reading.list_checkpoints),
    (f"{_RUN}/artifacts", reading.list_artifacts),
    (f"{_RUN}/events", reading.list_events),
    (f"{_RUN}/watch", reading.watch),
    (f"{_RUN}/inspector", reading.inspector),
    (f"{_TASK}/approvals", approvals.list_approvals),
    ("/env-resources", envs.list_resources),
    ("/env-resources/{id}", envs.get_one),
    ("/container-images", images.list_images),
    ("/container-images/capabilities", images.capabilities),
    ("/container-images/{id}", images.get_one),
]
_CHANGES: list[tuple[str, Handler, int]] = [
    ("/runs", runs.start, 201),
    (f"{_RUN}/cancel", runs.cancel, 200),
    (f"{_RUN}/hints", changing.hint, 200),
    (f"{_TASK}/cancel", changing.cancel_task, 200),
    (f"{_TASK}/retry", changing.retry_task, 200),
    (f"{_TASK}/checkpoints", changing.ask, 201),
    (f"{_TASK}/approvals", approvals.approve, 201),
    ("/checkpoints/{checkpoint_id}/resolve", changing.resolve, 200),
    (f"{_RUN}/blackboard/rebuild", changing.rebuild, 200),
    ("/env-resources", envs.make, 201),
    ("/container-images", images.make, 201),
]
_AT = "/orchestration"
ROUTES = [
    *(Route("GET", _AT + path, handler, "run.viewer", errors=message) for path, handler in _READS),
    *(
        Route("POST", _AT + path, handler, "operator", status=status, errors=message, control=True)
        for path, handler, status in _CHANGES
    ),
    Route("PATCH", f"{_AT}/env-resources/{{id}}", envs.change, "operator", errors=message),
    Route(
        "DELETE",
        f"{_AT}/env-resources/{{id}}",
        envs.delete,
        "operator",
        status=204,
        errors=message,
    ),
    Route(
        "DELETE",
        f"{_AT}{_TASK}/approvals/{{approval_id}}",
        approvals.revoke,
        "operator",
        status=204,
        errors=message,
        control=True,
    ),
]
