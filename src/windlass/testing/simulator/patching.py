"""People who change the graphs of runs that go on: they ask until they know, and are heard once."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from windlass.engine import runs
from windlass.engine.graphs import lower
from windlass.kernel.patching import extended
from windlass.model.errors import Conflict, DefinitionError, Unavailable
from windlass.model.graph import Edge, Graph, Kind
from windlass.model.ids import node_path
from windlass.model.patches import GraphPatch, Patch, read_patch
from windlass.model.rows import Run, Version
from windlass.model.states import RUN_ENDED
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import Broken

Ask = Callable[[Callable[[Any], Awaitable[int]]], Awaitable[int]]
_TRIES = 5
_REFUSED = (Unavailable, Conflict, DefinitionError)


class Patching:
    """Makes patches and sends them."""

    def __init__(self, database: MemoryDatabase, rng: random.Random, ask: Ask) -> None:
        self._db = database
        self.rng = rng
        self._ask = ask
        self._made = 0

    async def patch(self, run: Run) -> None:
        """Change the graph of that run or of another that can grow, at times two people at once:
        one of them then comes too late."""
        known = [run, *self._db.table(Run).values()]
        graphs = {row.id: graph_of(self._db, row) for row in known if row.state not in RUN_ENDED}
        growing = [
            row
            for row in known
            if row.id in graphs and graphs[row.id].joins and row.dialect == "workflow"
        ]
        if not growing:
            return
        run = self.rng.choice(growing)
        graph = graphs[run.id]
        people = 2 if self.rng.random() < 0.5 else 1
        told = await asyncio.gather(
            *(self._send(run, graph) for _ in range(people)), return_exceptions=True
        )
        for error in told:
            if isinstance(error, BaseException) and not isinstance(error, _REFUSED):
                raise error

    async def _send(self, run: Run, graph: Graph) -> None:
        """Send a patch; an answer that was lost is asked for again with the same one."""
        self._made += 1
        author = f"patch {self._made}"
        patch = self._some_patch(graph, author)
        try:
            for tries_left in reversed(range(_TRIES)):
                try:
                    revision = await self._ask(
                        lambda server: runs.patch_graph(
                            server.engine.of(run.tenant), run.id, patch, run.graph_rev
                        )
                    )
                except Unavailable:
                    if not tries_left:
                        raise
                    await asyncio.sleep(0.2)
                    continue
                self._check_answer(run, author, revision)
                return
        finally:
            self._check_once(run, author)

    def _check_answer(self, run: Run, author: str, revision: int) -> None:
        row = self._db.table(GraphPatch).get((run.id, revision))
        if row is None or read_patch(row.patch).author != author:
            raise Broken(
                f"{author} of run {run.id} was acknowledged and is not revision {revision}"
            )

    def _check_once(self, run: Run, author: str) -> None:
        rows = self._db.of_run(GraphPatch, run.id)
        times = sum(read_patch(row.patch).author == author for row in rows)
        if times > 1:
            raise Broken(f"{author} of run {run.id} was taken {times} times")

    def _some_patch(self, graph: Graph, author: str) -> Patch:
        """Some nodes more, some less; where edges would go round the whole is refused."""
        rng = self.rng
        inside = [p for p, first in graph.starts.items() if graph.joins.keys() >= {p, *first}]
        scope = rng.choice(["", *inside])
        here = [path for path in graph.joins if path.rpartition("/")[0] == scope]
        drop = tuple(path for path in here if rng.random() < 0.15)
        left = [path for path in here if path not in drop]
        calls = [node for node in graph.nodes.values() if node.kind is Kind.CALL]
        model = rng.choice(calls)
        keys = (str(UUID(int=rng.getrandbits(128), version=4)) for _ in range(rng.randint(0, 2)))
        added = [node_path(scope, key) for key in keys]
        edges: list[Edge] = []
        for path in added:
            edges += [Edge(each, "default", path) for each in left if rng.random() < 0.4]
            edges += [Edge(path, "default", each) for each in left if rng.random() < 0.15]
        return Patch(
            tuple(replace(model, path=path, fills=()) for path in added),
            tuple(edges),
            drop,
            tuple(path for path in left if rng.random() < 0.1),
            reason="meddling",
            author=author,
        )


def graph_of(database: MemoryDatabase, run: Run) -> Graph:
    """The graph of a run, from what is committed and nothing else."""
    graph = lower(database.table(Version)[run.version_id])
    patches = database.table(GraphPatch)
    for revision in range(1, run.graph_rev + 1):
        graph = extended(graph, read_patch(patches[run.id, revision].patch))
    return graph
