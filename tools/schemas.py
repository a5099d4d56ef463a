"""Writes the JSON Schemas of the link's frames, and the page that describes them, from the models.

Without an option it rewrites them; `--check` only says which differ and exits 1 if any does.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import FEATURES, NAMES, Envelope, Generation

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "schemas" / "link"
PAGE = ROOT / "docs" / "reference" / "link.md"
NOTE = "<!-- Written by tools/schemas.py; edit the models it describes, then run it again. -->\n"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

INTRODUCTION = """\
Every frame is a JSON text in one WebSocket message at `/ws/worker`, in an envelope with `type`,
`id`, `ts`, `tenant`, `sender`, `payload` and, where they apply, `corr`, `seq`, `session_seq`, `ack`
and `flags`. The generations are told apart by the first frame. The full schemas are in
`schemas/link/`.

A worker that goes for good closes its connection with code 1001. If it holds nothing any more, it
is `offline` from then on. After any other end it is `connected: false` and may come back; its
attempts are its own until their leases run out."""

TO_WORKER = "server to worker"
TO_SERVER = "worker to server"
BOTH = "both ways"
DIRECTIONS: dict[type[m.Message], str] = {
    m.Ack: BOTH,
    m.Accept: TO_WORKER,
    m.Reset: TO_WORKER,
    m.Drain: TO_WORKER,
    m.Dispatch: TO_WORKER,
    m.NextResponse: TO_WORKER,
    m.PkgInstall: TO_WORKER,
    m.PkgUninstall: TO_WORKER,
    m.Cancel: TO_WORKER,
    m.Rebind: TO_WORKER,
    m.ReleaseResources: TO_WORKER,
}


class Frame(NamedTuple):
    """One frame of one generation."""

    generation: Generation
    name: str
    message: type[m.Message]


def frames() -> list[Frame]:
    return [
        Frame(generation, name, message)
        for generation in Generation
        for message, names in NAMES.items()
        if (name := names.of(generation))
    ]


def schema_of(frame: Frame) -> dict[str, Any]:
    """The whole frame: the envelope with its payload, everything it refers to in one document."""
    (envelope, payload), parts = msgspec.json.schema_components(
        [Envelope, frame.message], ref_template="#/$defs/{name}"
    )
    del envelope
    body = dict(parts["Envelope"])
    properties = dict(body["properties"])
    properties["type"] = {"const": frame.name}
    properties["payload"] = payload
    body["properties"] = properties
    used = {name: part for name, part in parts.items() if name != "Envelope"}
    return {
        "$schema": DIALECT,
        "$id": f"windlass:link/{int(frame.generation)}/{frame.name}",
        "title": frame.name,
        "description": summary(frame.message),
        **{key: value for key, value in body.items() if key not in ("title", "description")},
        "$defs": used,
    }


def summary(message: type[m.Message]) -> str:
    text = (message.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def page() -> str:
    parts = [
        NOTE,
        "# Frames of the link",
        INTRODUCTION,
    ]
    for message, names in NAMES.items():
        title = " / ".join(f"`{name}`" for name in (names.first, names.second) if name)
        lines = [f"## {title}", f"{DIRECTIONS.get(message, TO_SERVER).capitalize()}."]
        if summary(message):
            lines.append(summary(message))
        if message in FEATURES:
            lines.append(f"Only to workers that advertise the feature `{FEATURES[message]}`.")
        table = ["| field | type | required |", "|---|---|---|"]
        for field in msgspec.structs.fields(message):
            kind = type_name(field.type)
            table.append(f"| `{field.encode_name}` | {kind} | {'yes' if field.required else ''} |")
        parts += ["\n\n".join(lines), "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def type_name(kind: Any) -> str:
    if isinstance(kind, type):
        shown = "any JSON" if kind is msgspec.Raw else kind.__name__
        return f"`{shown}`"
    text = str(kind).replace("typing.", "").replace("windlass.protocol.link.messages.", "")
    return (
        "`"
        + text.replace("msgspec.Raw", "any JSON").replace("|", "or").replace(" or None", "?")
        + "`"
    )


def wanted() -> dict[Path, str]:
    found = {
        FOLDER / str(int(frame.generation)) / f"{frame.name}.json": json.dumps(
            schema_of(frame), indent=2, sort_keys=True
        )
        + "\n"
        for frame in frames()
    }
    found[PAGE] = page()
    return found


def main() -> int:
    check = "--check" in sys.argv[1:]
    texts = wanted()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in FOLDER.rglob("*.json") if path not in texts]
    if check:
        for path in (*stale, *extra):
            print(f"{path.relative_to(ROOT)} differs; run tools/schemas.py")
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path])
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
