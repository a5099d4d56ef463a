"""`windlass run start FLOW --help`: the usual help, and what FLOW itself wants to be given."""

from typing import Any

import click

from windlass.cli.params import flow_version
from windlass.client import Client
from windlass.client.shapes import VersionInfo
from windlass.model.errors import WindlassError
from windlass.model.values import is_list, is_object
from windlass.model.visible import visible

_KEY = "windlass.start"
_HELP = frozenset({"-h", "--help"})


class StartCommand(click.Command):
    """A command whose help looks at the flow that stands beside it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if _HELP & set(args):
            others = [arg for arg in args if arg not in _HELP]
            # Only read, not processed: a slip in the rest must not come before the help.
            read = self.make_parser(ctx).parse_args(list(others))[0]
            # What is not given stands there too, as a mark of click's own.
            ctx.meta[_KEY] = {name: text for name, text in read.items() if isinstance(text, str)}
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        given = ctx.meta.get(_KEY, {})
        if given.get("flow"):
            named = ("flow", "server", "token", "tls_ca", "tenant")
            rows = _rows(*(given.get(name, "") for name in named))
            with formatter.section(f"Parameters of {visible(given['flow'])}"):
                formatter.write_dl([(visible(name), visible(about)) for name, about in rows])


def _rows(flow: str, server: str, token: str, tls_ca: str, tenant: str) -> list[tuple[str, str]]:
    try:
        name, number = flow_version(flow)
        with Client(server, token, tls_ca=tls_ca, tenant=tenant) as client:
            version = client.version(name, number or client.flow(name).latest or 0)
            if version.params_schema is not None:
                return declared(version.params_schema)
            return _read(client, version)
    except WindlassError as error:
        return [("not known", str(error))]


def _read(client: Client, version: VersionInfo) -> list[tuple[str, str]]:
    """A flow that declares nothing: the names it reads are all there is to tell."""
    if version.dialect == "workflow":
        return [("none", "a workflow that declares no inputs takes none")]
    names = client.validate(version.definition).params
    return [(name, "read by the flow, which does not declare it") for name in names] or [
        ("none", "the flow neither declares nor reads any")
    ]


def declared(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each parameter: what it is, whether it may be left out, what it is for."""
    required = schema.get("required", [])
    lines = list[tuple[str, str]]()
    for name, one in schema.get("properties", {}).items():
        says = one if is_object(one) else {}
        parts = [kind_of(says), "required" if name in required else "", *_default(says)]
        about = ", ".join(part for part in parts if part)
        lines.append((name, ". ".join(filter(None, [about, str(says.get("description", ""))]))))
    return lines or [("none", "it takes no parameters")]


def kind_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = schema.get("type", "")
    if is_list(kind):
        return " or ".join(map(str, kind))
    items = schema.get("items")
    if kind == "array" and is_object(items) and "type" in items:
        return f"array of {items['type']}"
    return str(kind)


def _default(schema: dict[str, Any]) -> list[str]:
    return [f"default {schema['default']!r}"] if "default" in schema else []
