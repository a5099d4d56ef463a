"""`windlass pkg`: make packages of nodes, sign them, try them; the rest is in `pkg_repository`."""

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click

from windlass.cli import output
from windlass.cli.api import json_option
from windlass.cli.packing import pack
from windlass.cli.pkg_repository import VERBS
from windlass.cli.pkg_starter import files
from windlass.cli.printing import print_line, print_text
from windlass.model.errors import BadRequest, DefinitionError
from windlass.protocol.packages import signature as signatures
from windlass.protocol.packages.archive import SUFFIX, Contents, inspect
from windlass.protocol.packages.digest import sha256
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import is_package_name

FILE = click.Path(exists=True, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def pkg() -> None:
    """Make packages of nodes, sign, try and publish them, and have workers install them."""


for verb in VERBS:
    pkg.add_command(verb)


@pkg.command()
@click.argument("name")
@click.argument("folder", metavar="[DIR]", default=None, required=False, type=click.Path())
def new(name: str, folder: str | None) -> None:
    """Write a package that works to DIR (default: a folder called NAME)."""
    if not is_package_name(name):
        hint = "use small letters, digits, and single . _ - between them"
        raise click.UsageError(f'"{name}" is no name for a package; {hint}')
    home = Path(folder or name)
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise click.UsageError(f"{home} is there already; name another folder")
    for path, text in files(name).items():
        target = home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print_line(str(target))
    print_line(f"try it: windlass pkg try {home} {name}.greet", err=True)


@pkg.command()
@click.argument("folder", metavar="[DIR]", default=".", type=FILE)
@click.option("-o", "--output", "target", type=NEW_FILE, help="Where to; else NAME-VERSION.cwx.")
@json_option
def build(folder: Path, target: Path | None, as_json: bool) -> None:
    """Check the package in DIR and make an archive of it."""
    manifest, archive = packed(folder)
    path = target or Path(f"{manifest.name}-{manifest.version}{SUFFIX}")
    path.write_bytes(archive)
    found = {
        "file": str(path),
        "name": manifest.name,
        "version": manifest.version,
        "sha256": sha256(archive),
        "bytes": len(archive),
    }
    if as_json:
        output.show_json(found)
        return
    print_line(f"{found['sha256']}  {path}")
    print_line(f"{manifest.name}@{manifest.version}, {len(manifest.nodes)} nodes", err=True)


@pkg.command()
@click.option("-o", "--output", "target", type=NEW_FILE, required=True, help="The private key.")
def keygen(target: Path) -> None:
    """Make a key to sign packages with; print the public half, which others trust."""
    private = signatures.new_key()
    try:
        number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise click.UsageError(f"{target} is there already; name another file") from error
    with os.fdopen(number, "w") as file:
        file.write(private)
    print_line(signatures.public_key(private))
    print_line(f"keep {target} secret; workers that trust the line above take its work", err=True)


@pkg.command()
@click.argument("file", type=FILE)
@click.option("--key", "key_file", type=FILE, required=True, help="What keygen made.")
@click.option("--by", "signed_by", default="", help="Who signs, for people to read.")
@click.option("-o", "--output", "target", type=NEW_FILE, help="Where to; else FILE itself.")
def sign(file: Path, key_file: Path, signed_by: str, target: Path | None) -> None:
    """Put a signature into an archive; one that is there is replaced."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    private = key_file.read_text("utf-8")
    signed = signatures.sign(file.read_bytes(), private, signed_at=now, signed_by=signed_by)
    path = target or file
    path.write_bytes(signed)
    key = signatures.key_id(signatures.public_key(private))
    print_line(f"{sha256(signed)}  {path}")
    print_line(f"signed with the key {key}", err=True)


@pkg.command()
@click.argument("file", type=FILE)
@click.option("--trust", "keys", multiple=True, help="A public key that must have signed it.")
@json_option
def verify(file: Path, keys: tuple[str, ...], as_json: bool) -> None:
    """Check an archive and its signature; with --trust, say no to everybody else's."""
    data = file.read_bytes()
    contents = _inspected(file, data)
    verdict = signatures.verify(contents, signatures.Trust(required=bool(keys), keys=keys))
    if as_json:
        found = {"sha256": sha256(data), "digest": contents.digest}
        output.show_json({**found, "status": verdict.status, "reason": verdict.reason})
    else:
        print_line(f"{verdict.status}: {verdict.reason}")
    if not verdict.allowed:
        raise click.exceptions.Exit(4)


@pkg.command("try")
@click.argument("source", metavar="FILE|DIR", type=FILE)
@click.argument("node_type")
@click.option("--params", default="{}", help="Parameters as a JSON object, or @FILE.")
@click.option(
    "--timeout-s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds the handler is given.",
)
@click.option("--allow-hooks", is_flag=True, help="Let the package's install hooks run.")
@json_option
def try_one(
    source: Path,
    node_type: str,
    params: str,
    timeout_s: float,
    allow_hooks: bool,
    as_json: bool,
) -> None:
    """Install a package for a moment and call one of its handlers."""
    from windlass.cli.pkg_try import try_handler

    manifest, archive = packed(source) if source.is_dir() else _read(source)
    given = _object(params)
    outcome = try_handler(
        manifest,
        archive,
        node_type,
        given,
        timeout_s=timeout_s,
        allow_hooks=allow_hooks,
        tell=_tell,
    )
    output.show_json(outcome if as_json else outcome.result)
    if outcome.error is not None:
        print_text(f"{outcome.status}: {outcome.error.message}", err=True, indent="  ")
        trace = (outcome.error.details or {}).get("traceback")
        if trace:
            print_text(str(trace), err=True)
    if outcome.status not in ("SUCCEEDED", "SKIPPED"):
        raise click.exceptions.Exit(1)


def packed(folder: Path) -> tuple[Manifest, bytes]:
    """An archive of a folder; its problems are listed here, where their paths mean something."""
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is a file; name the package's folder")
    try:
        return pack(folder)
    except DefinitionError as error:
        raise _listed(folder, error) from error


def _listed(place: Path, error: DefinitionError) -> click.exceptions.Exit:
    print_line(f"error: {place} has {len(error.problems)} problem(s)", err=True)
    for problem in error.problems:
        print_text(f"  {problem}", err=True, indent="    ")
    return click.exceptions.Exit(2)


def _read(file: Path) -> tuple[Manifest, bytes]:
    data = file.read_bytes()
    return _inspected(file, data).manifest, data


def _inspected(file: Path, data: bytes) -> Contents:
    try:
        return inspect(io.BytesIO(data))
    except DefinitionError as error:
        raise _listed(file, error) from error


def _object(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        text = Path(text[1:]).read_text("utf-8")
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRequest(f"--params is not JSON: {error}; write it like '{{}}'") from error
    if not isinstance(value, dict):
        raise BadRequest('--params is no object; write it like \'{"name": "Ada"}\'')
    return cast(dict[str, Any], value)


def _tell(body: dict[str, Any]) -> None:
    """Feedback as it comes, on the side."""
    head = " ".join(str(body[key]) for key in ("stage", "message") if body.get(key))
    if body.get("progress") is not None:
        head = f"{body['progress']:.0%} {head}".strip()
    if head:
        print_line(f"… {head}", err=True)
    for chunk in body.get("chunks") or ():
        print_text(str(chunk.get("text", "")).removesuffix("\n"), err=True)
