"""The verbs of `windlass pkg` that talk to a server: publish, list, install, and back again."""

from pathlib import Path

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.tables import Column
from windlass.client import Client
from windlass.client.shapes import PackageInfo, WorkerInfo
from windlass.model.errors import Conflict, NotFound

FIELDS = ("name", "default_version", "versions", "state", "description")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@with_client
def publish(client: Client, file: Path, as_json: bool) -> None:
    """Publish the archive FILE to the server's repository."""
    made = client.publish_package(file.read_bytes())
    if as_json:
        output.show_json(made)
        return
    print_line(f"{made.name}@{made.version}")
    print_line(f"sha256 {made.archive_sha256}", err=True)


@click.command("ls")
@click.argument("q", metavar="[TEXT]", default="")
@limit_option
@wide_option
@json_option
@with_client
def list_packages(client: Client, q: str, limit: int, wide: bool, as_json: bool) -> None:
    """List published packages."""
    found = first(limit, lambda some, cursor: client.packages(q, limit=some, cursor=cursor))
    hint = "no packages; make one with `windlass pkg new NAME`, then build and publish it"
    output.show_rows(found.items, columns(), FIELDS, as_json=as_json, wide=wide, empty=hint)
    output.say_more(found.next, limit)


def columns() -> list[Column]:
    return [
        Column("NAME", lambda package: package.name),
        Column("VERSION", lambda package: package.default_version or ""),
        Column("STATE", lambda package: package.state, rank=2),
        Column("ALL", lambda package: ", ".join(package.versions), rank=1, bends=True),
        Column("WHAT", lambda package: package.description, rank=3, bends=True),
    ]


@click.command()
@click.argument("name")
@click.argument("version", metavar="[VERSION]", default="")
@click.option("--worker", "worker_ids", multiple=True, help="On this worker; else on all.")
@with_client
def install(client: Client, name: str, version: str, worker_ids: tuple[str, ...]) -> None:
    """Have workers install a version of NAME (default: the newest)."""
    found = client.package(name, version)
    for worker in chosen(client, worker_ids):
        client.command(worker.id, "pkg.install", name=name, version=found.version)
        print_line(f"{worker.id} is to install {name}@{found.version}")


@click.command()
@click.argument("name")
@click.argument("version")
@click.option("--worker", "worker_ids", multiple=True, help="From this worker; else from all.")
@with_client
def uninstall(client: Client, name: str, version: str, worker_ids: tuple[str, ...]) -> None:
    """Have workers remove a version of NAME; other versions stay."""
    having = [w for w in chosen(client, worker_ids) if f"{name}@{version}" in w.services]
    if not having:
        raise NotFound(f"no worker has {name}@{version}")
    remove(client, having, name, version)


def remove(client: Client, having: list[WorkerInfo], name: str, version: str) -> None:
    for worker in having:
        client.command(worker.id, "pkg.uninstall", name=name, version=version)
        print_line(f"{worker.id} is to remove {name}@{version}")


@click.command()
@click.argument("name")
@click.argument("version", metavar="[VERSION]", default="")
@with_client
def rollback(client: Client, name: str, version: str) -> None:
    """Take a version of NAME (default: the one in use) back, and use the one before it.

    The version is yanked, so that nothing new uses it; the tag `latest` points at the one before;
    workers that have it remove it. Runs that use an earlier version notice nothing.
    """
    package = client.package(name, version)
    before = version_before(client, package)
    client.set_package_status(name, package.version, "yanked")
    print_line(f"yanked {name}@{package.version}")
    client.set_package_tag(name, "latest", before)
    print_line(f"latest is {name}@{before}")
    target = f"{name}@{package.version}"
    remove(client, [w for w in chosen(client, ()) if target in w.services], name, package.version)


def version_before(client: Client, package: PackageInfo) -> str:
    """The newest older version that was not yanked itself; the list has the newest first."""
    for version in package.versions[package.versions.index(package.version) + 1 :]:
        if client.package(package.name, version).status != "yanked":
            return version
    text = f"no version before {package.name}@{package.version} may be used"
    raise Conflict(f"{text}; there is nothing to go back to")


def chosen(client: Client, worker_ids: tuple[str, ...]) -> list[WorkerInfo]:
    """Workers on the link that are there: all, or those named."""
    found = first(10_000, lambda some, cursor: client.workers(limit=some, cursor=cursor)).items
    live = {w.id: w for w in found if w.transport == "link" and w.state in ("online", "draining")}
    for worker_id in worker_ids:
        if worker_id not in live:
            raise NotFound(f'no worker "{worker_id}" is on the link; see `windlass worker ls`')
    if not live:
        hint = "start one with `windlass worker packages --transport link`"
        raise NotFound(f"no worker is on the link; {hint}")
    return [live[worker_id] for worker_id in worker_ids or live]


VERBS = (publish, list_packages, install, uninstall, rollback)
