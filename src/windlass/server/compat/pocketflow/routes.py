"""The paths of this surface, each with and without `/api`."""

from windlass.server.compat.pocketflow import flows, queue, tasks, workers
from windlass.server.compat.pocketflow.names import error_text
from windlass.server.routes import Handler, Route

_PATHS: list[tuple[str, str, Handler, str]] = [
    ("POST", "/workers/register", workers.register, "worker"),
    ("POST", "/workers/heartbeat", workers.heartbeat, "worker"),
    ("GET", "/workers/list", workers.list_workers, "run.viewer"),
    ("GET", "/workers/allocate", workers.allocate, "run.viewer"),
    ("POST", "/register", workers.register, "worker"),
    ("POST", "/heartbeat", workers.heartbeat, "worker"),
    ("GET", "/list", workers.list_workers, "run.viewer"),
    ("GET", "/allocate", workers.allocate, "run.viewer"),
    ("POST", "/flows", flows.create, "operator"),
    ("GET", "/flows", flows.list_flows, "workflow.viewer"),
    ("POST", "/flows/version", flows.create_version, "operator"),
    ("GET", "/flows/version", flows.list_versions, "workflow.viewer"),
    ("GET", "/flows/version/get", flows.get_version, "workflow.viewer"),
    ("POST", "/tasks", tasks.create, "operator"),
    ("GET", "/tasks", tasks.list_tasks, "run.viewer"),
    ("GET", "/tasks/get", tasks.get_task, "run.viewer"),
    ("POST", "/tasks/run_once", tasks.run_once, "operator"),
    ("POST", "/tasks/cancel", tasks.cancel, "operator"),
    ("GET", "/tasks/runs", tasks.list_runs, "run.viewer"),
    ("GET", "/tasks/logs", tasks.logs, "run.viewer"),
    ("POST", "/tasks/signal", tasks.signal, "operator"),
    ("POST", "/queue/poll", queue.poll, "worker"),
    ("POST", "/queue/complete", queue.complete, "worker"),
    ("POST", "/queue/heartbeat", queue.heartbeat, "worker"),
    ("POST", "/queue/update_run", queue.update_run, "worker"),
]

_NEED_CONTROL = (tasks.create, tasks.cancel, tasks.signal)

ROUTES = [
    Route(
        method,
        prefix + path,
        handler,
        role,
        errors=error_text,
        control=handler in _NEED_CONTROL,
    )
    for prefix in ("/api", "")
    for method, path, handler, role in _PATHS
]
