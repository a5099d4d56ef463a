"""A workflow as it is written: nodes with their ports, edges between ports, graphs inside nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.dialects.envs import NO_ENV, Env
from windlass.model.graph import Affinity, Fill, LimitSpec, Output, Retry, Step, Verification
from windlass.model.pods import PodSpec

Path = tuple[Step, ...]
"""Steps down from a task's parameters or results."""

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Binding:
    """What a port stands for: a place in its node's parameters or results, or in those of a node
    inside its container."""

    root: str
    """`parameters` or `results`."""
    path: Path
    node: str = ""
    """The node inside the container; empty is the port's own."""
    aliases: tuple[str, ...] = ()
    """Which of several graphs on the way to that node are meant, outermost first."""


@dataclass(frozen=True, slots=True)
class Port:
    key: str
    where: str
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a node by their keys. A node that declares none may be wired anywhere."""

    inputs: Mapping[str, Port] = field(default_factory=dict[str, Port])
    outputs: Mapping[str, Port] = field(default_factory=dict[str, Port])

    @property
    def declared(self) -> bool:
        return bool(self.inputs or self.outputs)


@dataclass(frozen=True, slots=True)
class Schemas:
    """The JSON Schemas of a node's parameters and results, where they are known."""

    parameters: Json | None = None
    results: Json | None = None


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    where: str


@dataclass(frozen=True, slots=True)
class End:
    """One end of an edge."""

    node: str
    port: str
    where: str


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge as it is written."""

    where: str
    source: End
    target: End
    condition: object = None
    condition_at: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """A container that is gone through again while its condition holds."""

    iterations_max: int
    condition: object
    condition_at: str
    carry: tuple[Wire, ...]
    """What one iteration hands to the next: edges from its nodes back to its nodes."""


@dataclass(frozen=True, slots=True)
class Container:
    """What makes a node a container: the graph inside it and how it is gone through."""

    subgraph: str
    where: str
    timeout_ms: int = 0
    retry: Retry | None = None
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class WorkflowNode:
    """One node, or one middleware of a node."""

    id: str
    where: str
    type: str
    label: str
    package: Package | None
    parameters: Json
    results: Json
    schemas: Schemas
    ports: Ports
    condition: object = None
    condition_at: str = ""
    container: Container | None = None
    middlewares: tuple["WorkflowNode", ...] = ()
    retry: Retry = field(default_factory=Retry)
    timeout_ms: int = 0
    affinity: Affinity | None = None
    env: Env = NO_ENV
    limits: tuple[LimitSpec, ...] = ()
    strict: bool = False
    """A result that does not meet the schema is refused."""
    runtime: str = ""
    verification: Verification | None = None
    is_plan: bool = False
    """Its tasks are planned while a run goes on."""
    pod: PodSpec | None = None
    """What its runtime makes of it: a pod instead of work for whoever has the package."""


@dataclass(frozen=True, slots=True)
class Body:
    """Nodes and the edges between them: the workflow's own, or a subgraph's."""

    where: str
    entries: Mapping[str, WorkflowNode]
    wires: tuple[Wire, ...]


@dataclass(frozen=True, slots=True)
class Subgraph:
    id: str
    label: str
    body: Body


@dataclass(frozen=True, slots=True)
class Hint:
    """The least version of a package a workflow asks for."""

    package: str
    version: str
    where: str


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where nodes that name it run; without a pod, with workers as ever."""

    name: str
    where: str
    pod: PodSpec | None = None


@dataclass(frozen=True, slots=True)
class Interface:
    """What crosses the border of a whole workflow."""

    params: str = ""
    """The JSON Schema of what a run is given."""
    fills: Mapping[str, tuple[Fill, ...]] = field(default_factory=dict[str, tuple[Fill, ...]])
    """By node, the places in its parameters that inputs fill."""
    outputs: Mapping[str, Output] = field(default_factory=dict[str, Output])
    """By node, what of its results the run gives back."""


@dataclass(frozen=True, slots=True)
class Source:
    """A whole definition, read."""

    body: Body
    subgraphs: Mapping[str, Subgraph]
    hints: tuple[Hint, ...]
    interface: Interface
    runtimes: Mapping[str, Runtime] = field(default_factory=dict[str, Runtime])

    def inside(self, entry: WorkflowNode) -> Subgraph | None:
        """The graph inside a container."""
        return None if entry.container is None else self.subgraphs.get(entry.container.subgraph)

    def least(self, package: str) -> str:
        """The least version asked for of a package; "" if none is."""
        return next((hint.version for hint in self.hints if hint.package == package), "")
