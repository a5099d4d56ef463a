"""`runtimes` of a workflow that are pods, and the nodes that run in them."""

from collections.abc import Mapping
from dataclasses import replace

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.plain import is_object, under
from windlass.dialects.pods import read_pod
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.shape import Body, Runtime, Source, Subgraph, WorkflowNode


def read_runtimes(fields: Exact, known: dict[str, Runtime]) -> None:
    """Add the runtimes of one graph to those known; what a runtime holds beside `pod` is notes of
    other editors, and hints for workers."""
    for name, given in fields.mapping("runtimes").items():
        where = under(fields.at("runtimes"), name)
        pod = None
        if is_object(given) and given.get("pod") is not None:
            pod = read_pod(Fields({"pod": given["pod"]}, where, ("pod",), fields.problems))
        runtime = Runtime(name, where, pod)
        same = known.setdefault(name, runtime)
        if same.pod != pod:
            hint = "give one of them another name"
            fields.problems.add(where, f"{same.where} is another runtime of this name", hint)


def with_runtimes(source: Source, problems: Problems) -> Source:
    """A workflow whose nodes have the pods that their runtimes are."""

    def fill(body: Body) -> Body:
        entries = {
            key: _filled(entry, source.runtimes, problems) for key, entry in body.entries.items()
        }
        return replace(body, entries=entries)

    subgraphs = {
        key: Subgraph(graph.id, graph.label, fill(graph.body))
        for key, graph in source.subgraphs.items()
    }
    return replace(source, body=fill(source.body), subgraphs=subgraphs)


def _filled(
    entry: WorkflowNode, runtimes: Mapping[str, Runtime], problems: Problems
) -> WorkflowNode:
    for middleware in entry.middlewares:
        if middleware.runtime:
            hint = "give it to the node whose middleware it is"
            where = under(middleware.where, "runtime")
            problems.add(where, "a middleware has no runtime of its own", hint)
    if not entry.runtime:
        return entry
    where = under(entry.where, "runtime")
    runtime = runtimes.get(entry.runtime)
    if runtime is None:
        known = sorted(runtimes)
        hint = problems.closest(entry.runtime, known) or f"known are {', '.join(known[:8])}"
        problems.add(where, f'there is no runtime "{entry.runtime:.60}"', hint if known else "")
        return entry
    if runtime.pod is not None and (entry.container is not None or entry.is_plan):
        hint = "give it to the nodes inside" if not entry.is_plan else "give the plan profiles"
        problems.add(where, "a container is no pod", hint)
        return entry
    return replace(entry, pod=runtime.pod)
