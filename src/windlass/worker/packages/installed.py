"""Versions that are in place: what is noted about each, and what is found at start."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from windlass.model.errors import DefinitionError
from windlass.protocol.packages.checks import read_manifest
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import MANIFEST, STATE
from windlass.protocol.packages.signature import Status
from windlass.worker.adapters.registry import RunnablePackage
from windlass.worker.packages.environment import interpreter_of

log = logging.getLogger(__name__)

RECEIPT = f"{STATE}/installed.json"


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an installation leaves behind once everything has gone well."""

    name: str
    version: str
    sha256: str
    digest: str
    signature: Status
    signed_by: str = ""
    installed_at: str
    source: str = ""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is in place and ready."""

    receipt: Receipt
    manifest: Manifest
    manifest_json: dict[str, Any]
    folder: Path

    @property
    def key(self) -> tuple[str, str]:
        return self.receipt.name, self.receipt.version

    def runnable(self, *, site: bool) -> RunnablePackage:
        interpreter = interpreter_of(self.folder)
        return RunnablePackage(
            manifest=self.manifest, folder=self.folder, interpreter=interpreter, site=site
        )


class Inventoried(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a worker's inventory."""

    name: str
    version: str
    status: str
    """`installed`; `failed`: the last try to install it; `missing`: it was there and is not."""
    manifest: dict[str, Any] = {}
    reason: str = ""


def write_receipt(folder: Path, receipt: Receipt) -> None:
    path = folder / RECEIPT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(receipt)))


def read_installed(folder: Path) -> Installed:
    """The version in a folder; OSError, MsgspecError or DefinitionError if it is a ruin."""
    text = (folder / MANIFEST).read_bytes()
    receipt = msgspec.json.decode((folder / RECEIPT).read_bytes(), type=Receipt)
    manifest = read_manifest(text)
    return Installed(
        receipt=receipt,
        manifest=manifest,
        manifest_json=msgspec.json.decode(text, type=dict[str, Any]),
        folder=folder,
    )


def scan(root: Path, which: str = "*/*") -> Iterator[Installed]:
    """Every version in place below a root; what an interrupted worker left is passed over."""
    for folder in sorted(root.glob(which)):
        if folder.parent.name.startswith(".") or not folder.is_dir():
            continue
        try:
            found = read_installed(folder)
        except (OSError, msgspec.MsgspecError, DefinitionError) as error:
            log.warning("%s is no installed package and is passed over: %s", folder, error)
            continue
        if found.key == (folder.parent.name, folder.name):
            yield found
        else:
            log.warning("%s holds %s@%s and is passed over", folder, *found.key)
