"""The `workflow` dialect: nodes from packages, wired port to port, as AstraFlow defines them.

    definition ── resolve(catalog) ──▶ locked ── compile_workflow(definition, locked) ──▶ Graph

Both raise DefinitionError, with every problem they can find at once.
"""

from windlass.dialects.workflow.connections import HOST
from windlass.dialects.workflow.draft import NodeOrigin
from windlass.dialects.workflow.fields import is_uuid
from windlass.dialects.workflow.interface import inputs_schema
from windlass.dialects.workflow.lower import (
    Checked,
    check_workflow,
    compile_workflow,
    definition_hash,
    outline,
    resolve,
)
from windlass.dialects.workflow.middlewares import host_path
from windlass.dialects.workflow.packages import Catalog, Found

__all__ = [
    "HOST",
    "Catalog",
    "Checked",
    "Found",
    "NodeOrigin",
    "check_workflow",
    "compile_workflow",
    "definition_hash",
    "host_path",
    "inputs_schema",
    "is_uuid",
    "outline",
    "resolve",
]
