"""The graph every dialect lowers to: nodes, edges, and the rules on them.

A graph is flat. Nodes of a subflow and branches of a fan-out stand in the same table under longer
paths (`sub/a`, `fan/0`, `each/*`), so finding the node of a task is one dict look-up however deep
the nesting goes.
"""

from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from windlass.model.pods import NAMESPACE, PodSpec


class Kind(StrEnum):
    CALL = "call"
    CHOICE = "choice"
    PARALLEL = "parallel"
    FOREACH = "foreach"
    SUBFLOW = "subflow"
    TIMER = "timer"
    WAIT = "wait"
    APPROVAL = "approval"
    JOIN = "join"
    PLAN = "plan"
    """A container whose inside is planned while the run goes on."""


SCOPES = (Kind.SUBFLOW, Kind.PLAN)
"""Containers with a graph of their own inside."""
CONTAINERS = (Kind.PARALLEL, Kind.FOREACH, *SCOPES)


class Activation(StrEnum):
    ANY = "any"
    """Every arriving token makes a new visit, so loops work."""
    ALL = "all"
    """The node waits until each incoming edge has fired or is known never to."""


class Transport(StrEnum):
    PUSH = "push"
    PULL = "pull"
    LOCAL = "local"
    SCRIPT = "script"
    LINK = "link"
    POD = "pod"


class Strategy(StrEnum):
    """What a failed branch, sub-node or wait means for its container."""

    DEFAULT = "default"
    FAIL_FAST = "fail_fast"
    COLLECT_ERRORS = "collect_errors"
    IGNORE_ERRORS = "ignore_errors"
    CONTINUE = "continue"
    RETRY = "retry"


class Root(StrEnum):
    """What a reference reads from."""

    PARAMS = "params"
    SHARED = "shared"
    INPUT = "input"
    LITERAL = "literal"
    SHARED_OR_LITERAL = "shared_or_literal"
    """A shared value if there is one of that name, else the text itself."""
    RESULTS = "results"
    """The output of another node's task in the same scope; the first step is that node's path."""
    PARAMETERS = "parameters"
    """The input of another node's task in the same scope; the first step is that node's path."""
    CONTAINER = "container"
    """The input of the container the task sits in."""
    STEP = "step"
    """How many tasks its scope had made when the task was made, itself included."""


Step = str | int


class Ref(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A value named in a definition: a root and the steps down from it.

    As text it is an array that begins with its type, as an expression is: so a patch, which is
    kept, can be read again.
    """

    root: Root
    path: tuple[Step, ...] = ()
    literal: Any = None

    @property
    def shared_key(self) -> str | None:
        """The shared key this reference reads, if it reads one."""
        if self.root in (Root.SHARED, Root.SHARED_OR_LITERAL) and self.path:
            return str(self.path[0])
        return None


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call node calls and how an attempt of it reaches its executor."""

    transport: Transport
    service: str
    """A service's name; for a package `<package>@<version>:<handler>`."""
    script: dict[str, Any] | None = None
    package: str = ""
    version: str = ""
    handler: str = ""
    """Of a package: the node type its adapters handle."""
    pod: PodSpec | None = None
    """Of a pod: what runs in it, and where."""

    @property
    def queue(self) -> str:
        """The ready queue: whoever claims states which queues it can serve."""
        return f"{self.transport}:{self.service}"


def pod_target(pod: PodSpec) -> Target:
    """A namespace is what a queue of pods is for, whoever's turn it is there."""
    return Target(Transport.POD, pod.namespace or NAMESPACE, pod=pod)


class Retry(msgspec.Struct, frozen=True, omit_defaults=True):
    """How often a failed task is tried again, and after what pause."""

    retries_max: int = 0
    wait_ms: int = 0
    factor: float = 1.0
    wait_ms_max: int = 0
    """Upper bound of one pause; 0 leaves it unbounded."""
    jitter: float = 0.0
    """Share of a pause that is spread at random, 0 to 1."""
    moves_max: int | None = None
    """How often an attempt may move to another worker (unreachable or lost); None: the setting."""
    move_wait_ms: int = 0


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which shared keys a result is written to: all of it, or single fields."""

    key: str = ""
    fields: dict[str, str] = {}


class ActionRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a finished task names the edge to follow."""

    static: str = ""
    key: str = ""
    default: str = ""


class Expr(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A condition: an operator over expressions and references."""

    op: str
    args: tuple["Expr | Ref", ...] = ()


class Case(msgspec.Struct, frozen=True):
    """One case of a choice: the first whose condition holds gives the action."""

    action: str
    when: Expr


class OnReject(StrEnum):
    """What becomes of a task whose result was rejected."""

    FAIL = "fail"
    RETRY = "retry"
    """Done again within its retries, with what the verifier said."""
    REPLAN = "replan"
    ASK = "ask"
    """A person decides, with the claim before them."""


class Verification(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who must accept a result before anything builds on it."""

    target: Target
    on_reject: OnReject = OnReject.FAIL
    policy: dict[str, Any] = {}
    """What the verifier is told to look at, in its own words."""
    timeout_ms: int = 0
    """How long one verdict may take; 0 is as long as its lease is renewed."""
    tries_max: int = 5
    """After so many verifiers failed one after the other, the task fails. One that is lost is no
    failure, and its verdict is asked for again however often that happens."""


class Fill(msgspec.Struct, frozen=True):
    """Data an edge carries: where in a node's parameters a value goes, and what it is read from.

    A value that is missing leaves the parameter as it is.
    """

    path: tuple[Step, ...]
    source: Ref
    when: Expr | None = None
    """The condition of the edge that carries it: one that does not fire carries nothing."""


class LimitSpec(msgspec.Struct, frozen=True):
    """A limit on a node: how its key is made, and what the key allows."""

    key: tuple[str | Ref, ...]
    """Texts and values, joined when a task begins."""
    text: str
    """The key as its author wrote it."""
    max: int | None = None
    rate: int = 0
    per_ms: int = 1000
    burst: int = 1


class Affinity(msgspec.Struct, frozen=True):
    """Tasks with the same key go to the same worker while the key is remembered."""

    key: str
    preferred: bool = False
    """Another worker may have the task if the right one has no room for a while."""
    ttl_ms: int = 3_600_000


class Planned(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a plan says of one of its tasks, beyond what every node has."""

    goal: str
    digest: str
    """Stands for its definition and, transitively, what it depends on: the same digest in the next
    plan keeps the task."""
    depends_on: tuple[str, ...] = ()
    role: str = ""
    on_failure: str = "fail_run"
    priority: int = 0
    env: dict[str, Any] | None = None
    blackboard_scope: str = ""
    pod_profile: str = ""
    """The profile that does it, where that is a pod and no service."""


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node of a graph, with everything the kernel needs to visit it.

    What it leaves at its default is left out of its text: patches are kept, and most of a node is.
    """

    path: str
    kind: Kind
    activation: Activation = Activation.ANY
    fires_all: bool = False
    """Fire every outgoing edge rather than the one the action chooses."""
    target: Target | None = None
    params: dict[str, Any] = {}
    input: Ref | dict[str, Ref] | None = None
    fills: tuple[Fill, ...] | None = None
    """A node whose input is its own parameters, with these values filled in; instead of `input`."""
    when: Expr | None = None
    """Visited only if this holds for `{"parameters": input}`, else skipped."""
    params_schema: str = ""
    """JSON Schema (as text) a task's input must meet before it is queued; "" is none."""
    results_schema: str = ""
    """JSON Schema a result should meet."""
    results_strict: bool = False
    """A result that does not meet its schema is refused, rather than taken with a warning."""
    results: dict[str, Any] | None = None
    """What a result is laid over before it is checked and kept; None leaves it as it came."""
    awaited: bool = False
    """Another task called for it and waits for its result: a failure is that task's to judge."""
    next: str = ""
    """The awaited node that a task of this one may call for, as often as it likes."""
    output: Output = Output()
    action: ActionRule = ActionRule()
    retry: Retry = Retry()
    timeout_ms: int = 0
    strategy: Strategy = Strategy.DEFAULT
    cases: tuple[Case, ...] = ()
    concurrent: bool = False
    parallel_max: int = 0
    """Most branches at once when concurrent; 0 is all of them."""
    branches: int = 0
    """How many branches a parallel node has; they stand at `<path>/<index>`."""
    overrides: frozenset[int] = frozenset()
    """Items of a foreach that have a node of their own at `<path>/<index>`, else `<path>/*`."""
    delay: Ref | None = None
    signal: Ref | None = None
    """What a wait or an approval waits for."""
    wait_timeout: Ref | None = None
    prompt: str = ""
    by_load: bool = False
    verification: Verification | None = None
    env: str = ""
    """The resource whose place a task is done in; empty for none."""
    env_kind: str = ""
    """Of what kind it must be; empty takes any."""
    env_keep_ms: int = 0
    """How long the place of a failed task is kept for a look."""
    affinity: Affinity | None = None
    planner: dict[str, Ref] | None = None
    """Of a plan: what its settings are read from; see `PlanSettings`."""
    goal: tuple[str | Ref, ...] = ()
    """Of a plan: texts and values that its goal is joined of; empty where `planner` has it."""
    planned: Planned | None = None
    """Of a task of a plan."""
    limits: tuple[LimitSpec, ...] = ()
    """What attempts of this node must not go beyond, by key."""
    budget: str = ""
    """What each task of it may use up: `Budget`; empty is no bound."""

    @property
    def key(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def scope_path(self) -> str:
        return self.path.rpartition("/")[0]


class Edge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way on from a node: taken when its action is `on`; `target` None ends the token."""

    source: str
    on: str
    target: str | None
    when: Expr | None = None
    """Fires only if this holds for `{"parameters": …, "results": …}` of the task it leaves."""


class Graph(msgspec.Struct, frozen=True, dict=True):
    """A whole definition, lowered and checked."""

    starts: dict[str, tuple[str, ...]]
    """Scope path ("" for the top, else a subflow node's path) → paths of its first nodes."""
    nodes: dict[str, Node]
    edges: dict[str, tuple[Edge, ...]] = {}
    joins: dict[str, int] = {}
    """Nodes that wait for all their incoming edges → how many there are."""
    fails_run: bool = False
    """A failed node without an `error` edge ends the run even if it has a default edge."""
    params: str = ""
    """The JSON Schema of a run's parameters; empty if they are not declared."""
    budget: str = ""
    """What a run may use up, if nobody says otherwise when it starts: `Budget`."""
    grows: bool = False
    """Some of its nodes are plans, so nodes that wait for their edges come while a run goes on."""

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The packages that its nodes call."""
        targets = (node.target for node in self.nodes.values())
        return tuple(dict.fromkeys(t.package for t in targets if t is not None and t.package))

    @property
    def counts_edges(self) -> bool:
        """Whether tasks are done again by what their edges lead to, rather than by their order: so
        it is wherever nodes wait for all their edges, or may come to."""
        return self.grows or bool(self.joins)

    def branch(self, container: Node, index: int) -> Node:
        """The node that branch `index` of a fan-out visits."""
        if container.kind is Kind.PARALLEL or index in container.overrides:
            return self.nodes[f"{container.path}/{index}"]
        return self.nodes[f"{container.path}/*"]
