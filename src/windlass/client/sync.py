"""The client for ordinary code."""

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

import httpx

from windlass.client import calls, envs, forks, ledger, logs, plan_calls, pod_calls, scripts, wire
from windlass.client import dead_letters as letters
from windlass.client.methods import Becomes, Method, RunMethod
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

        def __get__(self, client: "Client", owner: type) -> "Callable[P, Run]": ...

    def _function(self) -> Callable[..., Any]:
        build = self._build

        def method(self: "Client", *args: Any, **kwargs: Any) -> "Run":
            return Run(self, self.perform(build(*args, **kwargs)))

        return method


class Client:
    """Talks to a server; `with Client() as client:` closes its connections at the end."""

    def __init__(
        self,
        url: str = "",
        token: str = "",
        *,
        tls_ca: str = "",
        tenant: str = "",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`tls_ca` is a file with the authority that signed the server's certificate; `tenant` is
        where an operator of the whole system acts, `default` unless it is named."""
        settings = resolve(url, token, tls_ca=tls_ca, tenant=tenant)
        self.url = settings.url
        self._http = httpx.Client(
            base_url=settings.url,
            headers=wire.headers_for(settings),
            transport=transport,
            trust_env=wire.may_use_proxy(settings),
            verify=http_tls(settings.url, settings.tls_ca),
        )

    publish = Method(calls.publish)
    validate = Method(calls.validate)
    flows = Method(calls.flows)
    flow = Method(calls.flow)
    versions = Method(calls.versions)
    version = Method(calls.version)
    start = _Begins(scripts.start)
    plan = _Begins(plan_calls.start_plan)
    runs = Method(calls.runs)
    bulk = Method(calls.bulk)
    inbox = Method(calls.inbox)
    checkpoint = Method(calls.checkpoint)
    answer = Method(calls.answer)
    approve = Method(calls.approve)
    reject = Method(calls.reject)
    workers = Method(calls.workers)
    command = Method(calls.command)
    rebind = Method(calls.rebind)
    publish_package = Method(calls.publish_package)
    packages = Method(calls.packages)
    package = Method(calls.package)
    set_package_status = Method(calls.set_package_status)
    set_package_tag = Method(calls.set_package_tag)
    create_token = Method(calls.create_token)
    create_tenant = Method(calls.create_tenant)
    tenants = Method(calls.tenants)
    set_tenant_weight = Method(calls.set_tenant_weight)
    limits = Method(calls.limits)
    limit_rules = Method(calls.limit_rules)
    set_limit = Method(calls.set_limit)
    remove_limit = Method(calls.remove_limit)
    dead_letters = Method(letters.dead_letters)
    dead_letter = Method(letters.dead_letter)
    replay_dead_letters = Method(letters.replay_dead_letters)
    drop_dead_letters = Method(letters.drop_dead_letters)
    env_resources = Method(envs.env_resources)
    env_resource = Method(envs.env_resource)
    create_env_resource = Method(envs.create_env_resource)
    change_env_resource = Method(envs.change_env_resource)
    delete_env_resource = Method(envs.delete_env_resource)
    env_kinds = Method(envs.env_kinds)
    env_sessions = Method(envs.env_sessions)
    env_session = Method(envs.env_session)
    release_env_session = Method(envs.release_env_session)
    snapshot_env_session = Method(envs.snapshot_env_session)
    exec_env_session = Method(envs.exec_env_session)
    env_images = Method(envs.env_images)
    env_image = Method(envs.env_image)
    build_env_image = Method(envs.build_env_image)
    pull_env_image = Method(envs.pull_env_image)
    pods = Method(pod_calls.pods)
    pod = Method(pod_calls.pod)
    tokens = Method(calls.tokens)
    revoke_token = Method(calls.revoke_token)
    users = Method(calls.users)
    create_user = Method(calls.create_user)
    set_password = Method(calls.set_password)
    set_active = Method(calls.set_active)
    info = Method(calls.info)

    def run(self, run_id: str) -> "Run":
        """A run by its id, or by the beginning of it."""
        return Run(self, self.perform(calls.get_run(run_id)))

    def perform(self, work: Work[T]) -> T:
        """Do what a function of `calls` or `scripts` describes."""
        return self._send(work) if isinstance(work, ApiCall) else self._follow_script(work)

    def events(self, run_id: str, after: int = 0) -> Iterator[EventInfo]:
        """A run's events from `after` on, as they happen, until it has ended.

        A connection that breaks is opened again where it broke, so no event is missed or repeated.
        """
        follow = Follow(after)
        while True:
            try:
                yield from self._stream(run_id, follow)
                if follow.exhausted(self.perform(calls.get_run(run_id))):
                    return
            except WindlassError as error:
                if wire.must_give_up(error, follow):
                    raise
            time.sleep(follow.pause_s())

    def listen(self, call: ApiCall[T], hear: Hear) -> T:
        """Run a command in a place (`exec_env_session` of `windlass.client.envs`), and hear what it
        says while it runs. Whoever stops listening ends it."""
        reader = OutputReader(hear)
        try:
            request = wire.stream_request_for(self._http, call)
            answer = self._http.send(request, stream=True)
            try:
                if answer.status_code >= 300:
                    answer.read()
                    raise wire.refusal(answer)
                for piece in answer.iter_bytes():
                    reader.feed(piece)
            finally:
                answer.close()
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error
        return call.read(reader.result())

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send(self, call: ApiCall[T]) -> T:
        try:
            answer = self._http.send(wire.request_for(self._http, call))
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error
        return wire.read(call, answer)

    def _follow_script(self, script: Script[T]) -> T:
        try:
            step = next(script)
            while True:
                try:
                    came = self._step(step)
                except WindlassError as error:
                    step = script.throw(error)
                else:
                    step = script.send(came)
        except StopIteration as done:
            value: T = done.value
            return value

    def _step(self, step: ApiCall[object] | Pause) -> object:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        return self._send(step)

    def _stream(self, run_id: str, follow: Follow) -> Iterator[EventInfo]:
        path = calls.history(run_id).path
        request = self._http.build_request(
            "GET", path, headers=follow.headers, timeout=wire.stream_timeout()
        )
        try:
            answer = self._http.send(request, stream=True)
            try:
                if answer.status_code >= 300:
                    answer.read()
                    raise wire.refusal(answer)
                follow.opened()
                for line in answer.iter_lines():
                    event = follow.feed(line)
                    if event is not None:
                        yield event
            finally:
                answer.close()
        except httpx.HTTPError as error:
            raise wire.unreachable(self.url, error) from error


class Run:
    """A handle on one run."""

    def __init__(self, client: Client, info: RunInfo) -> None:
        self.client = client
        self.info = info

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.info.flow}: {self.state}>"

    wait = RunMethod(scripts.wait)
    result = RunMethod(scripts.result)
    tasks = RunMethod(calls.tasks)
    attempts = RunMethod(calls.attempts)
    logs = RunMethod(logs.logs)
    revisions = RunMethod(calls.revisions)
    history = RunMethod(calls.history)
    why = RunMethod(calls.why)
    cancel = RunMethod(calls.cancel)
    set_priority = RunMethod(calls.set_priority)
    hint = RunMethod(plan_calls.hint)
    cancel_task = RunMethod(plan_calls.cancel_task)
    ask = RunMethod(plan_calls.ask)
    blackboard = RunMethod(plan_calls.blackboard)
    board_entry = RunMethod(plan_calls.board_entry)
    board_revisions = RunMethod(plan_calls.board_revisions)
    actions = RunMethod(ledger.actions)
    approvals = RunMethod(ledger.approvals)
    approve = RunMethod(ledger.approve)
    revoke = RunMethod(ledger.revoke)
    delete = RunMethod(calls.delete)
    signal = RunMethod(calls.signal)
    retry = RunMethod(calls.retry)

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def state(self) -> str:
        """As of the last `refresh`."""
        return self.info.state

    def refresh(self) -> RunInfo:
        self.info = self.client.perform(calls.get_run(self.id))
        return self.info

    def fork(
        self,
        task: str,
        input: object = forks.SAME,  # noqa: A002  the wire's name
        *,
        key: str = "",
    ) -> "Run":
        """Another run that keeps what this one did before a task, and does the rest again; with
        another input for that task, if one is given."""
        call = forks.fork(self.id, task, input, key=key)
        return Run(self.client, self.client.perform(call))

    def rerun(self) -> "Run":
        """A new run with the same flow version and input."""
        return Run(self.client, self.client.perform(calls.rerun(self.id)))

    def events(self, after: int = 0) -> Iterator[EventInfo]:
        """See `Client.events`."""
        return self.client.events(self.id, after)
