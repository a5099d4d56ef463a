"""`windlass flow`: publish definitions and look at them."""

import sys
from pathlib import Path
from typing import Any, cast

import click

from windlass.authoring import Flow
from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.params import flow_version
from windlass.cli.printing import print_line
from windlass.cli.views import FLOW_FIELDS, flow_columns
from windlass.client import Client
from windlass.client.calls import is_workflow
from windlass.model.errors import BadRequest, DefinitionError, Problem
from windlass.model.values import is_object
from windlass.worker.modules import load_module


@click.group()
def flow() -> None:
    """Publish and look at flows."""


@flow.command()
@click.argument("source")
@click.option("--name", default="", help="The flow's name; else the file's, or the Flow's own.")
@click.option("--description", default="", help="What the flow is for.")
@click.option("--draft", is_flag=True, help="Keep it from being started by default.")
@json_option
@with_client
def push(
    client: Client, source: str, name: str, description: str, draft: bool, as_json: bool
) -> None:
    """Publish a FILE (JSON or YAML) or module:flow as the next version."""
    found, definition = load(source)
    if name and is_workflow(definition):
        # A workflow brings its name along, so that is where another one goes.
        metadata = definition.get("metadata")
        given = metadata if is_object(metadata) else {}
        definition = {**definition, "metadata": {**given, "name": name}}
    status = "draft" if draft else "published"
    done = client.publish(name or found, definition, description=description, status=status)
    if as_json:
        output.show_json(done)
        return
    print_line(f"{done.flow}\t{done.version}" if not output.is_terminal() else _pushed(done))


def _pushed(done: Any) -> str:
    return f"✓ {done.flow}@{done.version}   start it: windlass run start {done.flow} --watch"


@flow.command()
@click.argument("source")
@json_option
@with_client
def validate(client: Client, source: str, as_json: bool) -> None:
    """Check a FILE or module:flow without publishing it."""
    done = client.validate(load(source)[1])
    if as_json:
        output.show_json(done)
        return
    params = f", parameters {', '.join(done.params)}" if done.params else ""
    print_line(f"✓ {done.nodes} nodes{params}", err=True)


@flow.command("ls")
@click.option("-q", "--query", default="", help="Part of a name.")
@limit_option
@wide_option
@json_option
@with_client
def list_flows(client: Client, query: str, limit: int, wide: bool, as_json: bool) -> None:
    """List flows, newest first."""
    found = first(limit, lambda some, cursor: client.flows(query, limit=some, cursor=cursor))
    hint = "no flows yet; publish one with `windlass flow push FILE`"
    if query:
        hint = f"no flow's name contains {query!r}"
    output.show_rows(
        found.items, flow_columns(), FLOW_FIELDS, as_json=as_json, wide=wide, empty=hint
    )
    output.say_more(found.next, limit)


@flow.command()
@click.argument("name")
@click.option("--version", type=int, default=None, help="A version other than the latest.")
@json_option
@with_client
def show(client: Client, name: str, version: int | None, as_json: bool) -> None:
    """Show a version's definition."""
    name, wanted = flow_version(name)
    number = version or wanted or client.flow(name).latest
    if number is None:
        raise BadRequest(f'flow "{name}" has no versions; publish one with `windlass flow push`')
    found = client.version(name, number)
    if not as_json:
        print_line(f"{found.flow}@{found.version}  {found.status}", err=True)
    output.show_json(found if as_json else found.definition)


def load(source: str) -> tuple[str, dict[str, Any]]:
    """A definition and the name it goes by, from a file or from a Flow in a module."""
    path = Path(source)
    if not path.exists() and ":" in source:
        return _from_module(source)
    try:
        text = sys.stdin.read() if source == "-" else path.read_text("utf-8")
    except OSError as error:
        hint = "give a file, or module:flow for a Flow written in Python"
        raise BadRequest(f"cannot read {source}: {error.strerror}; {hint}") from error
    # Read here rather than by the server: a slip in the text is named by line, and the rest of what
    # is said about a version travels with it.
    from windlass.dialects.flow import read_definition

    is_yaml = path.suffix in (".yaml", ".yml") or not text.lstrip().startswith("{")
    return path.name.split(".")[0], _object(read_definition(text, yaml=is_yaml))


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast(dict[str, Any], value)
    raise DefinitionError([Problem("definition", "this is no object", "give start and nodes")])


def _from_module(source: str) -> tuple[str, dict[str, Any]]:
    module_name, _, attribute = source.partition(":")
    found = getattr(load_module(module_name), attribute, None)
    if not isinstance(found, Flow):
        raise BadRequest(f'"{source}" is not a Flow; write module:flow')
    return found.name, found.compile()
