"""`windlass image`: images of containers, pulled or built where the runtimes are."""

import time
from pathlib import Path

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.cli.texts import first_line
from windlass.cli.views import at
from windlass.client import Client
from windlass.client.env_shapes import EnvImageInfo
from windlass.client.shapes import Page

_FIELDS = ("id", "name", "source_type", "image_ref", "status", "digest", "host", "error")
_MORE = ("metadata", "created_at", "created_by", "changed_at")
_LOOK_S = 0.5
_OVER = ("ready", "failed", "archived")


@click.group()
def image() -> None:
    """Have images of containers pulled or built, and see what there is."""


@image.command("ls")
@click.option("--status", default="", help="Only those that are ready, failed, building, ….")
@limit_option
@wide_option
@json_option
@with_client
def list_(client: Client, status: str, limit: int, wide: bool, as_json: bool) -> None:
    """List images by name."""

    def fetch(some: int, cursor: str | int) -> Page[EnvImageInfo]:
        return client.env_images(status=status, limit=some, cursor=cursor)

    found = first(limit, fetch)
    columns = [
        Column("NAME", lambda row: row.name),
        Column("STATUS", lambda row: row.status),
        Column("IMAGE", lambda row: row.image_ref, rank=1),
        Column("CHANGED", at("changed_at"), rank=1),
        Column("ERROR", lambda row: first_line(row.error), rank=2, bends=True),
    ]
    output.show_rows(
        found.items,
        columns,
        (*_FIELDS, *_MORE),
        as_json=as_json,
        wide=wide,
        empty="no images; have one built with `windlass image build NAME Dockerfile`",
    )
    output.say_more(found.next, limit)


@image.command("show")
@click.argument("name")
@click.option("--log", is_flag=True, help="What the build said.")
@json_option
@with_client
def show(client: Client, name: str, log: bool, as_json: bool) -> None:
    """Show the image NAME, or the log of its build."""
    found = client.env_image(name)
    if log and not as_json:
        for line in found.log.splitlines():
            print_line(line)
        return
    output.show_fields(found, (*_FIELDS, *_MORE), as_json=as_json)


@image.command("build")
@click.argument("name")
@click.argument("dockerfile", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--detach", is_flag=True, help="Do not wait for its end.")
@json_option
@with_client
def build(client: Client, name: str, dockerfile: Path, detach: bool, as_json: bool) -> None:
    """Build the image NAME from a DOCKERFILE, which has no files beside it."""
    made = client.build_env_image(name, dockerfile.read_text(encoding="utf-8"))
    finish(client, made, detach=detach, as_json=as_json)


@image.command("pull")
@click.argument("name")
@click.argument("image_ref", metavar="IMAGE")
@click.option("--detach", is_flag=True, help="Do not wait for its end.")
@json_option
@with_client
def pull(client: Client, name: str, image_ref: str, detach: bool, as_json: bool) -> None:
    """Pull IMAGE from its registry, to be known as NAME."""
    finish(client, client.pull_env_image(name, image_ref), detach=detach, as_json=as_json)


def finish(client: Client, made: EnvImageInfo, *, detach: bool, as_json: bool) -> None:
    """Follow a job to its end, line by line."""
    told = 0
    while not detach and made.status not in _OVER:
        time.sleep(_LOOK_S)
        made = client.env_image(made.id)
        lines = made.log.splitlines()
        for line in lines[told:]:
            print_line(line, err=True)
        told = len(lines)
    output.show_fields(made, (*_FIELDS, *_MORE), as_json=as_json)
    if made.status == "failed":
        raise SystemExit(1)
