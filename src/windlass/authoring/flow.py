"""A flow in the making: steps are added one by one and joined by arrows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack

from windlass.authoring.calls import (
    Options,
    Service,
    Spec,
    Transport,
    branch,
    fields_of,
    target,
)
from windlass.authoring.conditions import Condition
from windlass.authoring.params import Params, params_schema
from windlass.authoring.steps import End, Step
from windlass.dialects.flow import compile_flow
from windlass.model.errors import DefinitionError, Problem
from windlass.model.flow_names import flaw_of_name

Mode = Literal["sequential", "concurrent"]
OnError = Literal["fail_fast", "collect_errors", "ignore_errors", "continue", "retry"]


class Flow:
    """A definition written in Python. The first step added is where a run starts.

    with Flow("greet") as f:
        shout = f.step("shout", "transform", input="$params.name", output="text")
        ask = f.approval("ask", prompt="Send it?")
        shout >> ask
        ask.on("approved") >> f.step("send", "mail", input="$shared.text")
        ask.on("rejected") >> f.end()
    """

    def __init__(
        self,
        name: str,
        *,
        description: str = "",
        on_failure: Literal["continue", "fail"] = "fail",
        params: Params | None = None,
    ) -> None:
        """`on_failure="continue"` goes on along the plain arrow of a step that failed.

        `params` declares what a run is given: types by name (`{"count": int}`), a class with typed
        fields, or a JSON Schema. What does not fit is refused when a run is started.
        """
        self._params = None if params is None else params_schema(params)
        self.name = name
        self.description = description
        self._on_failure = on_failure
        self._start = ""
        self._nodes: dict[str, dict[str, Any]] = {}
        self._edges: list[dict[str, str]] = []
        self._problems: list[Problem] = []

    def step(
        self,
        key: str,
        service: Service,
        *,
        transport: Transport = "queue",
        **options: Unpack[Options],
    ) -> Step:
        """Call a service: of a worker that pulls (`queue`) or is called (`http`), or a function
        inside the server (`local`)."""
        return self._add(key, "executor", target(service, transport), options)

    def script(self, key: str, script: Mapping[str, Any], **options: Unpack[Options]) -> Step:
        """Run a command on the server, where its operator allows that."""
        fields = {"exec_type": "local_script", "script": dict(script)}
        return self._add(key, "executor", fields, options)

    def choice(
        self,
        key: str,
        cases: Mapping[str, Condition | str],
        *,
        default: str = "",
        **options: Unpack[Options],
    ) -> Step:
        """Take the first action whose condition holds, else the default."""
        listed = [{"action": action, "expr": expr} for action, expr in cases.items()]
        fields: dict[str, Any] = {"choice_cases": listed}
        if default:
            fields["default_action"] = default
        return self._add(key, "choice", fields, options)

    def parallel(
        self,
        key: str,
        branches: Iterable[Service | Spec],
        *,
        mode: Mode = "concurrent",
        max_parallel: int = 0,
        on_error: OnError | None = None,
        **options: Unpack[Options],
    ) -> Step:
        """Call several services with the same input; the result is the list of theirs."""
        specs = [spec if isinstance(spec, Spec) else branch(spec) for spec in branches]
        fields = {"parallel_execs": specs, **_fan_out(mode, max_parallel, on_error)}
        return self._add(key, "parallel", fields, options)

    def foreach(
        self,
        key: str,
        service: Service,
        *,
        over: str | Sequence[Any],
        transport: Transport = "queue",
        mode: Mode = "concurrent",
        max_parallel: int = 0,
        on_error: OnError | None = None,
        overrides: Mapping[int, Spec] | None = None,
        **options: Unpack[Options],
    ) -> Step:
        """Call a service once for each item of a list; the result is the list of results.

        `over` is the list itself, or a reference to one.
        """
        fields = {**target(service, transport), **_fan_out(mode, max_parallel, on_error)}
        if overrides:
            fields["foreach_execs"] = [{"index": i, **spec} for i, spec in overrides.items()]
        options["input"] = over if isinstance(over, str) else list(over)
        return self._add(key, "foreach", fields, options)

    def subflow(
        self,
        key: str,
        flow: "Flow",
        *,
        overrides: Mapping[str, Spec] | None = None,
        on_error: OnError | None = None,
        **options: Unpack[Options],
    ) -> Step:
        """Run another flow inside this one; the result is what its steps shared."""
        inner = flow.compile()
        fields: dict[str, Any] = {
            "subflow": {name: inner[name] for name in ("start", "nodes", "edges")}
        }
        if overrides:
            fields["subflow_execs"] = [{"node": node, **spec} for node, spec in overrides.items()]
        if on_error:
            fields["failure_strategy"] = on_error
        return self._add(key, "subflow", fields, options)

    def plan(
        self,
        key: str,
        goal: str,
        *,
        plan: str | Mapping[str, Any] | None = None,
        planner: str = "",
        worker: str = "",
        on_failure: Literal["fail_run", "continue", "replan", "ask"] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        plan_limits: Mapping[str, int] | None = None,
        **options: Unpack[Options],
    ) -> Step:
        """Reach a goal by a plan: its tasks are planned while the run goes on, or `plan` gives
        them. The goal is a text with references in it, as in `"Write about $params.topic"`; the
        result is what the plan comes to."""
        told = {
            "plan": dict(plan) if isinstance(plan, Mapping) else plan,
            "planner_profile": planner,
            "worker_profile": worker,
            "on_failure": on_failure,
            "output_schema": output_schema,
            "plan_limits": plan_limits,
        }
        fields = {name: value for name, value in told.items() if value}
        return self._add(key, "plan", {"goal": goal, **fields}, options)

    def timer(self, key: str, delay_ms: int | str, **options: Unpack[Options]) -> Step:
        """Wait for some time, given in milliseconds or as a reference to them."""
        return self._add(key, "timer", {}, options, delay_ms=delay_ms)

    def wait_event(
        self,
        key: str,
        signal: str,
        *,
        wait_timeout_ms: int | str = 0,
        on_timeout: OnError | None = None,
        **options: Unpack[Options],
    ) -> Step:
        """Wait until a shared value is there, as a signal from outside brings it."""
        fields = {"failure_strategy": on_timeout} if on_timeout else {}
        extra = {"timeout_ms": wait_timeout_ms} if wait_timeout_ms else {}
        return self._add(key, "wait_event", fields, options, signal_key=signal, **extra)

    def approval(
        self,
        key: str,
        *,
        prompt: str = "",
        answer: str = "",
        wait_timeout_ms: int | str = 0,
        **options: Unpack[Options],
    ) -> Step:
        """Wait for a person; the answer, such as `approved` or `rejected`, is the action.

        `answer` names a value that decides instead, if it is there: `$params.approval`.
        """
        extra: dict[str, Any] = {}
        if prompt:
            extra["prompt"] = prompt
        if answer:
            extra["approval_key"] = answer
        if wait_timeout_ms:
            extra["timeout_ms"] = wait_timeout_ms
        return self._add(key, "approval", {}, options, **extra)

    def end(self, note: str = "") -> End:
        """Where a path stops; the note is for readers."""
        return End(note)

    def start_at(self, step: Step) -> None:
        """Start at another step than the first one added."""
        self._start = step.key

    def compile(self) -> dict[str, Any]:
        """The definition as plain JSON values; raises DefinitionError with every problem, also
        those the server would find."""
        problems = list(self._problems)
        if not self._nodes:
            problems.append(Problem("nodes", "the flow has no steps", "add one with f.step(…)"))
        if flaw := flaw_of_name(self.name):
            problems.append(Problem("name", flaw))
        if problems:
            raise DefinitionError(problems)
        definition: dict[str, Any] = {
            "name": self.name,
            "start": self._start or next(iter(self._nodes)),
            "nodes": self._nodes,
            "edges": self._edges,
        }
        if self.description:
            definition["description"] = self.description
        definition["on_failure"] = self._on_failure
        if self._params is not None:
            definition["params"] = self._params
        copied: dict[str, Any] = json.loads(json.dumps(definition))
        compile_flow(copied)
        return copied

    def save(self, path: str | Path) -> None:
        """Write the definition to a file, for `windlass flow push` or an editor."""
        text = json.dumps(self.compile(), indent=2, ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to release: the block only shows what belongs to the flow."""

    def _add(
        self, key: str, kind: str, fields: Mapping[str, Any], options: Options, **params: Any
    ) -> Step:
        if key in self._nodes:
            hint = "give each step a name of its own"
            self._problems.append(Problem(f"nodes.{key}", "there are two steps of this name", hint))
        node: dict[str, Any] = {"kind": kind, **fields, **fields_of(options)}
        if params:
            node["params"] = {**node.get("params", {}), **params}
        self._nodes[key] = node
        return Step(key, self._connect)

    def _connect(self, source: str, action: str, to: str) -> None:
        if any(edge["from"] == source and edge["action"] == action for edge in self._edges):
            reason = f'"{source}" has a way out for "{action}" already'
            self._problems.append(Problem(f"edges[{len(self._edges)}]", reason, "keep one of them"))
        if to and to not in self._nodes:
            reason = f'"{to}" is a step of another flow'
            self._problems.append(Problem(f"edges[{len(self._edges)}]", reason, "add it here too"))
        self._edges.append({"from": source, "action": action, "to": to})


def _fan_out(mode: Mode, max_parallel: int, on_error: OnError | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"parallel_mode": mode}
    if max_parallel:
        fields["max_parallel"] = max_parallel
    if on_error:
        fields["failure_strategy"] = on_error
    return fields
