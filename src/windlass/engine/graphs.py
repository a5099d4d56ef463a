"""Graphs by version: read once, lowered once, kept for as long as they are used.

The graph of a run that was patched is its version's with its patches, kept by run and revision. It
is only ever built from patches that are committed, and asked for by the revision on the run's row:
so a process that has an older one never takes it for the newer, and saving finds out about an older
row.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from windlass.dialects.flow import compile_flow
from windlass.dialects.plan import compile_plan
from windlass.dialects.workflow import compile_workflow
from windlass.engine.compiling import off_loop
from windlass.kernel.patching import extended
from windlass.model.errors import DefinitionError, NotFound, Problem, WindlassError
from windlass.model.graph import Graph
from windlass.model.patches import GraphPatch, read_patch
from windlass.model.rows import Run, Version
from windlass.ports.store import Store


class Graphs:
    """A version never changes, so neither does its graph."""

    def __init__(
        self, store: Store, graphs_max: int = 512, on_load: Callable[[Graph], None] | None = None
    ) -> None:
        self._store = store
        self._on_load = on_load
        self._graphs_max = graphs_max
        self._graphs: OrderedDict[str, Graph] = OrderedDict()
        self._grown: OrderedDict[str, tuple[int, Graph]] = OrderedDict()
        """By run, the newest revision that was built and the graph at it."""
        self._broken: dict[str, WindlassError] = {}

    def get(self, version_id: str) -> Graph | None:
        graph = self._graphs.get(version_id)
        if graph is not None:
            self._graphs.move_to_end(version_id)
        return graph

    def broken(self, version_id: str) -> WindlassError | None:
        """Why a version could not be lowered the last time somebody tried."""
        return self._broken.get(version_id)

    async def try_load(self, run: Run) -> None:
        """Load a run's graph; one that cannot be had is remembered instead of raised.

        A version that this program cannot read concerns its own runs and no others in the pass.
        """
        self._broken.pop(run.version_id, None)
        try:
            await self.load_of(run)
        except (NotFound, DefinitionError) as error:
            self._broken[run.version_id] = error

    def of_run(self, run: Run) -> Graph | None:
        """The graph of a run at the very revision its row says, if it is in memory."""
        if not run.graph_rev:
            return self.get(run.version_id)
        known = self._grown.get(run.id)
        if known is None or known[0] != run.graph_rev:
            return None
        self._grown.move_to_end(run.id)
        return known[1]

    async def load_of(self, run: Run) -> Graph:
        graph = self.of_run(run)
        if graph is None:
            graph = await self.load(run.version_id)
            if run.graph_rev:
                graph = await self._grow(run, graph)
        return graph

    async def _grow(self, run: Run, graph: Graph) -> Graph:
        """Extend the newest graph in memory that is older than the run's by what came since."""
        revision = 0
        known = self._grown.get(run.id)
        if known is not None and known[0] < run.graph_rev:
            revision, graph = known
        keys = [(run.id, rev) for rev in range(revision + 1, run.graph_rev + 1)]
        async with self._store.session() as session:
            rows = await session.rows(GraphPatch, keys)
        if len(rows) < len(keys):
            raise NotFound(f"run {run.id} lacks patches of its graph")
        for row in sorted(rows, key=lambda row: row.rev):
            graph = extended(graph, read_patch(row.patch))
        if self._on_load is not None:
            self._on_load(graph)
        if known is None or known[0] < run.graph_rev:
            self._grown[run.id] = run.graph_rev, graph
            if len(self._grown) > self._graphs_max:
                self._grown.popitem(last=False)
        return graph

    async def load(self, version_id: str) -> Graph:
        graph = self.get(version_id)
        if graph is None:
            async with self._store.session() as session:
                found = await session.rows(Version, [version_id])
            if not found:
                raise NotFound(f'no version "{version_id}"')
            version = found[0]
            graph = await off_loop(lambda: lower(version), len(version.source))
            self.keep(version_id, graph)
        return graph

    def keep(self, version_id: str, graph: Graph) -> None:
        """Have a version's graph in memory; whoever has just published it is about to start it."""
        self._graphs[version_id] = graph
        if self._on_load is not None:
            self._on_load(graph)
        if len(self._graphs) > self._graphs_max:
            self._graphs.popitem(last=False)


def lower(version: Version) -> Graph:
    """The graph of a version, by its dialect."""
    definition = msgspec.json.decode(version.source)
    match version.dialect:
        case "flow" | "pocketflow":
            return compile_flow(definition)
        case "workflow":
            locked = None if version.locked is None else msgspec.json.decode(version.locked)
            return compile_workflow(definition, locked)
        case "plan":
            return compile_plan(definition)
        case other:
            reason = f'this program has no dialect "{other}"'
            raise DefinitionError([Problem("dialect", reason, "install a newer one")])
