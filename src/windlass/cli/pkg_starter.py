"""The files `windlass pkg new` writes: a package that works as it is."""

import json

FUNCTIONS = '''\
"""Handlers that are functions. An async one must not block; a plain one runs in a thread."""

from typing import Any


async def greet(ctx: Any) -> dict[str, Any]:
    name = ctx.params.get("name", "world")
    await ctx.feedback.emit_text(f"greeting {name}")
    return {"outputs": {"greeting": f"{ctx.config.get('word', 'Hello')}, {name}!"}}
'''

CLASSES = '''\
"""Handlers that are methods: the class is made once, so its calls share what it keeps."""

from typing import Any


class Counter:
    def __init__(self) -> None:
        self.total = 0

    def add(self, ctx: Any) -> dict[str, Any]:
        self.total += int(ctx.params.get("by", 1))
        return {"outputs": {"total": self.total}}
'''

README = """\
# {name}

A package of nodes. `manifest.json` says what they are, `adapters/` holds what runs them.

```sh
windlass pkg try . {name}.greet --params '{{"name": "Ada"}}'
windlass pkg build . -o {name}.cwx
windlass pkg keygen -o {name}.key
windlass pkg sign {name}.cwx --key {name}.key
```
"""


def files(name: str) -> dict[str, str]:
    """What to write, by path."""
    module = name.replace("-", "_").replace(".", "_")
    return {
        "manifest.json": json.dumps(_manifest(name, module), indent=2) + "\n",
        f"adapters/{module}_functions.py": FUNCTIONS,
        f"adapters/{module}_classes.py": CLASSES,
        "README.md": README.format(name=name),
    }


def _manifest(name: str, module: str) -> dict[str, object]:
    return {
        "schemaVersion": "1.0.0",
        "name": name,
        "version": "0.1.0",
        "description": f"What {name} is for, in a sentence.",
        "adapters": [
            {
                "name": "functions",
                "entrypoint": f"{module}_functions",
                "capabilities": [f"{name}.greet"],
            },
            {
                "name": "counter",
                "entrypoint": f"{module}_classes:Counter",
                "capabilities": [f"{name}.add"],
            },
        ],
        "python": {"requires": ">=3.11", "dependencies": []},
        "nodes": [
            _node(name, "greet", "functions", "name", {"type": "string", "default": "world"}),
            _node(name, "add", "counter", "by", {"type": "integer", "default": 1}),
        ],
    }


def _node(
    name: str, handler: str, adapter: str, field: str, schema: dict[str, object]
) -> dict[str, object]:
    result = {"greet": "greeting", "add": "total"}[handler]
    binding = {"path": f"parameters.{field}", "mode": "two_way"}
    return {
        "type": f"{name}.{handler}",
        "role": "node",
        "status": "published",
        "category": name,
        "label": handler.capitalize(),
        "adapter": adapter,
        "handler": handler,
        "config": {"word": "Hello"} if handler == "greet" else {},
        "schema": {
            "parameters": {"type": "object", "properties": {field: schema}},
            "results": {"type": "object", "properties": {result: {}}},
        },
        "ui": {
            "inputPorts": [{"key": field, "label": field, "binding": {**binding, "mode": "write"}}],
            "outputPorts": [
                {
                    "key": result,
                    "label": result,
                    "binding": {"path": f"results.{result}", "mode": "read"},
                }
            ],
            "widgets": [{"key": field, "label": field, "component": "string", "binding": binding}],
        },
    }
