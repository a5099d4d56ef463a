"""The client for async code; the same names as the sync one."""

from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

import anyio
import httpx

from windlass.client import calls, envs, forks, ledger, logs, plan_calls, pod_calls, scripts, wire
from windlass.client import dead_letters as letters
from windlass.client.methods import AsyncMethod, AsyncRunMethod, Becomes
from windlass.client.outputs import Hear, OutputReader
from windlass.client.requests import ApiCall, Pause, Script, Work
from windlass.client.settings import resolve
from windlass.client.shapes import EventInfo, RunInfo
from windlass.client.sse import Follow
from windlass.client.tls import http_tls
from windlass.model.errors import WindlassError

P = ParamSpec("P")
T = TypeVar("T")


class _Begins(Becomes, Generic[P]):
    """A client method that starts a run and answers with its handle."""

    if TYPE_CHECKING:

        def __init__(self, build: Callable[P, Work[RunInfo]]) -> None: ...

        def __get__(
            self, client: "AsyncClient", owner: type
        ) -> "Callable[P, Coroutine[Any, Any, AsyncRun]]": ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        async def method(self: "AsyncClient", *args: Any, **kwargs: Any) -> "AsyncRun":
            return AsyncRun(self, await self.perform(build(*args, **kwargs)))

        return method


class AsyncClient:
    """Talks to a server; `async with AsyncClient() as client:` closes its connections."""

    def __init__(
        self,
        url: str = "",
        token: str = "",
        *,
        tls_ca: str = "",
        tenant: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`tls_ca` is a file with the authority that signed the server's certificate; `tenant` is
        where an operator of the whole system acts, `default` unless it is named."""
        settings = resolve(url, token, tls_ca=tls_ca, tenant=tenant)
        self.url = settings.url
        self._http = httpx.AsyncClient(
            base_url=settings.url,
            headers=wire.headers_for(settings),
            transport=transport,
            trust_env=wire.may_use_proxy(settings),
            verify=http_tls(settings.url, settings.tls_ca),
        )

    publish = AsyncMethod(calls.publish)
    validate = AsyncMethod(calls.validate)
    flows = AsyncMethod(calls.flows)
    flow = AsyncMethod(calls.flow)
    versions = AsyncMethod(calls.versions)
    version = AsyncMethod(calls.version)
    start = _Begins(scripts.start)
    plan = _Begins(plan_calls.start_plan)
    runs = AsyncMethod(calls.runs)
    bulk = AsyncMethod(calls.bulk)
    inbox = AsyncMethod(calls.inbox)
    checkpoint = AsyncMethod(calls.checkpoint)
    answer = AsyncMethod(calls.answer)
    approve = AsyncMethod(calls.approve)
    reject = AsyncMethod(calls.reject)
    workers = AsyncMethod(calls.workers)
    command = AsyncMethod(calls.command)
    rebind = AsyncMethod(calls.rebind)
    publish_package = AsyncMethod(calls.publish_package)
    packages = AsyncMethod(calls.packages)
    package = AsyncMethod(calls.package)
    set_package_status = AsyncMethod(calls.set_package_status)
    set_package_tag = AsyncMethod(calls.set_package_tag)
    create_token = AsyncMethod(calls.create_token)
    create_tenant = AsyncMethod(calls.create_tenant)
    tenants = AsyncMethod(calls.tenants)
    set_tenant_weight = AsyncMethod(calls.set_tenant_weight)
    limits = AsyncMethod(calls.limits)
    limit_rules = AsyncMethod(calls.limit_rules)
    set_limit = AsyncMethod(calls.set_limit)
    remove_limit = AsyncMethod(calls.remove_limit)
    dead_letters = AsyncMethod(letters.dead_letters)
    dead_letter = AsyncMethod(letters.dead_letter)
    replay_dead_letters = AsyncMethod(letters.replay_dead_letters)
    drop_dead_letters = AsyncMethod(letters.drop_dead_letters)
    env_resources = AsyncMethod(envs.env_resources)
    env_resource = AsyncMethod(envs.env_resource)
    create_env_resource = AsyncMethod(envs.create_env_resource)
    change_env_resource = AsyncMethod(envs.change_env_resource)
    delete_env_resource = AsyncMethod(envs.delete_env_resource)
    env_kinds = AsyncMethod(envs.env_kinds)
    env_sessions = AsyncMethod(envs.env_sessions)
    env_session = AsyncMethod(envs.env_session)
    release_env_session = AsyncMethod(envs.release_env_session)
    snapshot_env_session = AsyncMethod(envs.snapshot_env_session)
    exec_env_session = AsyncMethod(envs.exec_env_session)
    env_images = AsyncMethod(envs.env_images)
    env_image = AsyncMethod(envs.env_image)
    build_env_image = AsyncMethod(envs.build_env_image)
    pull_env_image = AsyncMethod(envs.pull_env_image)
    pods = AsyncMethod(pod_calls.pods)
    pod = AsyncMethod(pod_calls.pod)
    tokens = AsyncMethod(calls.tokens)
    revoke_token = AsyncMethod(calls.revoke_token)
    users = AsyncMethod(calls.users)
    create_user = AsyncMethod(calls.create_user)
    set_password = AsyncMethod(calls.set_password)
    set_active = AsyncMethod(calls.set_active)
    info = AsyncMethod(calls.info)

    async def run(self, run_id: str) -> "AsyncRun":
        """A run by its id, or by the beginning of it."""
        return AsyncRun(self, await self.perform(calls.get_run(run_id)))

    async def perform(self, work: Work[T]) -> T:
        """Do what a function of `calls` or `scripts` describes."""
        if isinstance(work, ApiCall):
            return await self._send(work)
        return await self._follow_script(work)

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[EventInfo]:
        """A run's events from `after` on, as they happen, until it has ended.

        A connection that breaks is opened again where it broke, so no event is missed or repeated.
        """
        follow = Follow(after)
        while True:
            try:
                async for event in self._stream(run_id, follow):
                    yield event
                if follow.exhausted(await self.perform(calls.get_run(run_id))):
                    return
            except WindlassError as error:
                if wire.must_give_up(error, follow):
                    raise
            await anyio.sleep(follow.pause_s())

    async def listen(self, call: ApiCall[T], hear: Hear) -> T:
        """Run a command in a place (`exec_env_session` of `windlass.client.envs`), and hear what it
        says while it runs. Whoever stops listening ends it."""
        reader = OutputReader(hear)
        try:
            request = wire.stream_request_for(self._http, call)
            answer = await self._http.send(request, stream=True)
            try:
                if answer.status_code >= 300:
                    await answer.aread()
                    raise wire.refusal(answer)
                async for piece in answer.aiter_bytes():
                    reader.feed(piece)
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error
        return call.read(reader.result())

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _send(self, call: ApiCall[T]) -> T:
        try:
            answer = await self._http.send(wire.request_for(self._http, call))
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error
        return wire.read(call, answer)

    async def _follow_script(self, script: Script[T]) -> T:
        try:
            step = next(script)
            while True:
                try:
                    came = await self._step(step)
                except WindlassError as error:
                    step = script.throw(error)
                else:
                    step = script.send(came)
        except StopIteration as done:
            value: T = done.value
            return value

    async def _step(self, step: ApiCall[object] | Pause) -> object:
        if isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            return None
        return await self._send(step)

    async def _stream(self, run_id: str, follow: Follow) -> AsyncIterator[EventInfo]:
        path = calls.history(run_id).path
        request = self._http.build_request(
            "GET", path, headers=follow.headers, timeout=wire.stream_timeout()
        )
        try:
            answer = await self._http.send(request, stream=True)
            try:
                if answer.status_code >= 300:
                    await answer.aread()
                    raise wire.refusal(answer)
                follow.opened()
                async for line in answer.aiter_lines():
                    event = follow.feed(line)
                    if event is not None:
                        yield event
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error


class AsyncRun:
    """A handle on one run."""

    def __init__(self, client: AsyncClient, info: RunInfo) -> None:
        self.client = client
        self.info = info

    def __repr__(self) -> str:
        return f"<AsyncRun {self.id} of {self.info.flow}: {self.state}>"

    wait = AsyncRunMethod(scripts.wait)
    result = AsyncRunMethod(scripts.result)
    tasks = AsyncRunMethod(calls.tasks)
    attempts = AsyncRunMethod(calls.attempts)
    logs = AsyncRunMethod(logs.logs)
    revisions = AsyncRunMethod(calls.revisions)
    history = AsyncRunMethod(calls.history)
    why = AsyncRunMethod(calls.why)
    cancel = AsyncRunMethod(calls.cancel)
    set_priority = AsyncRunMethod(calls.set_priority)
    hint = AsyncRunMethod(plan_calls.hint)
    cancel_task = AsyncRunMethod(plan_calls.cancel_task)
    ask = AsyncRunMethod(plan_calls.ask)
    blackboard = AsyncRunMethod(plan_calls.blackboard)
    board_entry = AsyncRunMethod(plan_calls.board_entry)
    board_revisions = AsyncRunMethod(plan_calls.board_revisions)
    actions = AsyncRunMethod(ledger.actions)
    approvals = AsyncRunMethod(ledger.approvals)
    approve = AsyncRunMethod(ledger.approve)
    revoke = AsyncRunMethod(ledger.revoke)
    delete = AsyncRunMethod(calls.delete)
    signal = AsyncRunMethod(calls.signal)
    retry = AsyncRunMethod(calls.retry)

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def state(self) -> str:
        """As of the last `refresh`."""
        return self.info.state

    async def refresh(self) -> RunInfo:
        self.info = await self.client.perform(calls.get_run(self.id))
        return self.info

    async def fork(
        self,
        task: str,
        input: object = forks.SAME,  # noqa: A002  the wire's name
        *,
        key: str = "",
    ) -> "AsyncRun":
        """Another run that keeps what this one did before a task, and does the rest again; with
        another input for that task, if one is given."""
        call = forks.fork(self.id, task, input, key=key)
        return AsyncRun(self.client, await self.client.perform(call))

    async def rerun(self) -> "AsyncRun":
        """A new run with the same flow version and input."""
        return AsyncRun(self.client, await self.client.perform(calls.rerun(self.id)))

    def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        """See `AsyncClient.events`."""
        return self.client.events(self.id, after)
