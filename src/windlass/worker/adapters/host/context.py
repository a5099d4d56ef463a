"""What a handler of a package knows about its call."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from windlass.worker.adapters.host.desk import Action, AskDesk, Blackboard, DeskError
from windlass.worker.adapters.host.env import Env, EnvError
from windlass.worker.adapters.host.feedback import FeedbackPublisher
from windlass.worker.adapters.host.places import task_dir
from windlass.worker.adapters.host.registry import ResourceHandle, ResourceRegistry

Next = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Cancelled(Exception):
    """The call should stop: somebody cancelled it, or it ran out of time."""


class NextError(RuntimeError):
    """The rest of the chain could not be run; the message says why."""


class ExecutionContext:
    """One call, as its handler sees it."""

    def __init__(
        self,
        *,
        run_id: str = "",
        task_id: str = "",
        node_id: str = "",
        node_type: str = "",
        package_name: str = "",
        package_version: str = "",
        params: dict[str, Any] | None = None,
        data_root: Path | None = None,
        package_dir: Path | None = None,
        tenant: str = "",
        config: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        resource_refs: list[Any] | None = None,
        resource_registry: ResourceRegistry | None = None,
        leased_resources: dict[str, ResourceHandle] | None = None,
        feedback: FeedbackPublisher | None = None,
        host_node_id: str | None = None,
        middleware_chain: list[str] | None = None,
        chain_index: int | None = None,
        next_handler: Next | None = None,
        next_blocking: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        env: Env | None = None,
        desk: AskDesk | None = None,
    ) -> None:
        self.run_id = run_id
        self.task_id = task_id
        self.node_id = node_id
        self.node_type = node_type
        self.package_name = package_name
        self.package_version = package_version
        self.params = params if params is not None else {}
        self.tenant = tenant
        self.config = config or {}
        self.trace: dict[str, Any] | None = None
        self.metadata = metadata or {}
        self.resource_refs = resource_refs or []
        self.resource_registry = resource_registry
        self.leased_resources = leased_resources or {}
        self.feedback = feedback
        self.host_node_id = host_node_id
        self.middleware_chain = middleware_chain
        self.chain_index = chain_index
        self.package_dir = package_dir
        self.cancelled = False
        """Whether the call should stop; work in threads has to look for itself."""
        self._data_root = data_root
        self._data_dir: Path | None = None
        self._next = next_handler
        self._next_blocking = next_blocking
        self._env = env
        self._desk = desk
        self._actions = itertools.count(1)

    def action(
        self,
        tool: str,
        effect: str = "",
        *,
        input: Any = None,  # noqa: A002  what people call it
        summary: str = "",
        approval: str = "",
        call_id: str = "",
    ) -> Action:
        """Something this call does outside, for `with` or `async with`: written down before the
        body runs, and after it with its outcome. What is `external_irreversible` needs the token
        of an approval; the same `call_id` is the same action however often it is said."""
        start = {
            "call_id": call_id or str(next(self._actions)),
            "tool": tool,
            "effect": effect,
            "input": input,
            "summary": summary,
            "approval": approval,
        }
        return Action(self._asking(), start)

    @property
    def blackboard(self) -> Blackboard:
        """What this run's tasks let each other know: read all of it, write below your own task."""
        return Blackboard(self._asking())

    def _asking(self) -> AskDesk:
        if self._desk is None:
            raise DeskError("this call has no desk: its server or its worker is too old for one")
        return self._desk

    @property
    def has_env(self) -> bool:
        """Whether this call has an environment of its own."""
        return self._env is not None

    @property
    def env(self) -> Env:
        """The place this call is done in."""
        if self._env is None:
            raise EnvError("this call has no environment: give its node an `env`")
        return self._env

    @property
    def data_dir(self) -> Path:
        """A folder for this task alone, made when it is first asked for."""
        if self._data_dir is None:
            found = task_dir(self._data_root or Path.cwd(), self.run_id, self.task_id)
            found.mkdir(parents=True, exist_ok=True)
            self._data_dir = found
        return self._data_dir

    def check(self) -> None:
        """Raise Cancelled if the call should stop; call it now and then in long work."""
        if self.cancelled:
            raise Cancelled("the call was cancelled")

    async def next(
        self,
        payload: dict[str, Any] | None = None,
        *,
        host_ctx: dict[str, Any] | None = None,
        middleware_ctx: dict[str, Any] | None = None,
        timeout_ms: int | None = None,
    ) -> dict[str, Any]:
        """Run the rest of the middleware chain, down to the node it is around."""
        if self._next is None:
            raise NextError("there is no chain to go on with here")
        return await self._next(_next_fields(payload, host_ctx, middleware_ctx, timeout_ms))

    def next_blocking(
        self,
        payload: dict[str, Any] | None = None,
        *,
        host_ctx: dict[str, Any] | None = None,
        middleware_ctx: dict[str, Any] | None = None,
        timeout_ms: int | None = None,
    ) -> dict[str, Any]:
        """`next` for a plain function in a thread."""
        if self._next_blocking is None:
            raise NextError("there is no chain to go on with here")
        return self._next_blocking(_next_fields(payload, host_ctx, middleware_ctx, timeout_ms))


def _next_fields(
    payload: dict[str, Any] | None,
    host_ctx: dict[str, Any] | None,
    middleware_ctx: dict[str, Any] | None,
    timeout_ms: int | None,
) -> dict[str, Any]:
    return {
        "payload": payload or {},
        "host_ctx": host_ctx or {},
        "middleware_ctx": middleware_ctx or {},
        "timeout_ms": timeout_ms,
    }
