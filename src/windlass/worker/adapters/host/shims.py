"""Modules that packages written for other workers import: there if the package has none itself."""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

from windlass.worker.adapters.host import context, feedback, registry

Names = dict[str, object]

_CONTEXT: Names = {"ExecutionContext": context.ExecutionContext}
_FEEDBACK: Names = {"Channel": feedback.Channel, "FeedbackChunk": feedback.FeedbackChunk}
_RESOURCES: Names = {
    "ResourceHandle": registry.ResourceHandle,
    "ResourceRegistry": registry.ResourceRegistry,
}

MODULES: dict[str, Names] = {
    "worker": {},
    "worker.agent": {},
    "worker.agent.runner": _CONTEXT,
    "worker.agent.runner.context": _CONTEXT,
    "worker.agent.feedback": {"FeedbackPublisher": feedback.FeedbackPublisher},
    "worker.agent.resource_registry": _RESOURCES,
    "worker.execution": _CONTEXT,
    "worker.execution.context": _CONTEXT,
    "worker.execution.runtime": {**_RESOURCES, "FeedbackPublisher": feedback.FeedbackPublisher},
    "shared": {},
    "shared.models": {},
    "shared.models.biz": {},
    "shared.models.biz.exec": {},
    "shared.models.biz.exec.feedback": _FEEDBACK,
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules above, after everything else has been asked."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(MODULES[module.__name__])


def install() -> None:
    sys.meta_path.append(Finder())
