"""Graphs by version: read once, lowered once, kept for as long as they are used."""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from windlass.dialects.flow import compile_flow
from windlass.dialects.workflow import compile_workflow
from windlass.engine.compiling import off_loop
from windlass.model.errors import DefinitionError, NotFound, Problem, WindlassError
from windlass.model.graph import Graph
from windlass.model.rows import Version
from windlass.ports.store import Store


class Graphs:
    """A version never changes, so neither does its graph."""

    none = Graph(starts={}, nodes={})

    def __init__(
        self, store: Store, graphs_max: int = 512, on_load: Callable[[Graph], None] | None = None
    ) -> None:
        self._store = store
        self._on_load = on_load
        self._graphs_max = graphs_max
        self._graphs: OrderedDict[str, Graph] = OrderedDict()
        self._broken: dict[str, WindlassError] = {}

    def get(self, version_id: str) -> Graph | None:
        graph = self._graphs.get(version_id)
        if graph is not None:
            self._graphs.move_to_end(version_id)
        return graph

    def broken(self, version_id: str) -> WindlassError | None:
        """Why a version could not be lowered the last time somebody tried."""
        return self._broken.get(version_id)

    async def try_load(self, version_id: str) -> None:
        """Load a graph; one that cannot be had is remembered instead of raised.

        A version that this program cannot read concerns its own runs and no others in the pass.
        """
        self._broken.pop(version_id, None)
        try:
            await self.load(version_id)
        except (NotFound, DefinitionError) as error:
            self._broken[version_id] = error

    async def load(self, version_id: str) -> Graph:
        graph = self.get(version_id)
        if graph is None:
            async with self._store.session() as session:
                found = await session.rows(Version, [version_id])
            if not found:
                raise NotFound(f'no version "{version_id}"')
            version = found[0]
            graph = await off_loop(lambda: lower(version), len(version.source))
            self._graphs[version_id] = graph
            if self._on_load is not None:
                self._on_load(graph)
            if len(self._graphs) > self._graphs_max:
                self._graphs.popitem(last=False)
        return graph


def lower(version: Version) -> Graph:
    """The graph of a version, by its dialect."""
    definition = msgspec.json.decode(version.source)
    match version.dialect:
        case "flow" | "pocketflow":
            return compile_flow(definition)
        case "workflow":
            locked = None if version.locked is None else msgspec.json.decode(version.locked)
            return compile_workflow(definition, locked)
        case other:
            reason = f'this program has no dialect "{other}"'
            raise DefinitionError([Problem("dialect", reason, "install a newer one")])
