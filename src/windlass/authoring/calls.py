"""What a step calls and with what, in the words of the definition."""

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

Transport = Literal["http", "queue", "local"]
Service = str | Callable[..., Any]
"""A service by its name, or the function that a worker offers."""

_EXEC_TYPES = {"http": "http", "queue": "queue", "local": "local_func"}


class Spec(dict[str, Any]):
    """A call as `branch` writes it."""


class Options(TypedDict, total=False):
    """What every step may say; what it leaves out has the definition's defaults."""

    input: str | Mapping[str, Any] | list[Any]
    """A reference (`$params.x`, `$shared.y`), an object of references and values, or a list."""
    output: str | Mapping[str, str]
    """The shared key the result goes to, or shared keys and the fields they get."""
    params: Mapping[str, Any]
    action: str
    """The action this step always gives."""
    action_key: str
    """The field of the result that names the action."""
    default_action: str
    retries: int
    wait_ms: int
    backoff: float
    max_wait_ms: int
    jitter: float
    max_attempts: int
    attempt_delay_ms: int
    timeout_ms: int
    weighted_by_load: bool
    limits: list[Mapping[str, Any]]
    """Limits by key, as in `[{"key": "bank:$params.customer", "max": 5}]`."""
    budget: Mapping[str, Any]
    """What each task may use up, as in `{"tokens": 5000, "estimate": {"tokens": 500}}`."""
    verification: Mapping[str, Any]
    """Who must accept a result, as in `{"mode": "builtin_basic", "on_reject": "retry"}`; of a plan,
    the results of all its tasks that say nothing else."""
    env: str | Mapping[str, Any]
    """The resource whose place it is done in, or `{"resource": "py", "keep_failed_s": 600}`."""


_RENAMED = {"retries": "max_retries"}
_PLACED = frozenset({"input", "output", "params", "action", "action_key"})


def service_name(service: Service) -> str:
    """The name of a service; a function carries the one its worker gave it."""
    if isinstance(service, str):
        return service
    name = getattr(service, "__windlass_service__", None)
    if not isinstance(name, str):
        shown = getattr(service, "__name__", repr(service))
        raise TypeError(f"{shown} is no service yet; decorate it with @worker.service(name)")
    return name


def target(service: Service, transport: Transport) -> dict[str, Any]:
    """The fields that say what is called."""
    if transport not in _EXEC_TYPES:
        close = difflib.get_close_matches(transport, _EXEC_TYPES, n=1)
        hint = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(_EXEC_TYPES)}"
        raise ValueError(f'no transport "{transport}"; {hint}')
    field = "func" if transport == "local" else "service"
    return {field: service_name(service), "exec_type": _EXEC_TYPES[transport]}


def branch(
    service: Service,
    *,
    transport: Transport = "queue",
    params: Mapping[str, Any] | None = None,
    timeout_ms: int | None = None,
    retries: int | None = None,
) -> Spec:
    """One branch of a parallel step, or a call that replaces another."""
    spec = Spec(target(service, transport))
    if params is not None:
        spec["params"] = dict(params)
    if timeout_ms is not None:
        spec["timeout_ms"] = timeout_ms
    if retries is not None:
        spec["max_retries"] = retries
    return spec


def fields_of(options: Options) -> dict[str, Any]:
    """The options as fields of a node."""
    fields: dict[str, Any] = {}
    for name, value in options.items():
        if name not in _PLACED:
            fields[_RENAMED.get(name, name)] = value
    if "params" in options:
        fields["params"] = dict(options["params"])
    if "input" in options:
        given = options["input"]
        if isinstance(given, Mapping):
            fields["prep"] = {"input_map": dict(given)}
        else:
            fields["prep"] = {"input_key": given}
    post = _post(options)
    if post:
        fields["post"] = post
    return fields


def _post(options: Options) -> dict[str, Any]:
    post: dict[str, Any] = {}
    if "output" in options:
        out = options["output"]
        post.update({"output_key": out} if isinstance(out, str) else {"output_map": dict(out)})
    if "action" in options:
        post["action_static"] = options["action"]
    if "action_key" in options:
        post["action_key"] = options["action_key"]
    return post
