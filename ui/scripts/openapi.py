"""Writes openapi.json, the document the UI's types are generated from; `--check` only compares."""

import json
import sys
from pathlib import Path

from windlass.server.app import NATIVE
from windlass.server.openapi import openapi

FILE = Path(__file__).parent.parent / "openapi.json"


def text() -> str:
    """The document without the program's version, which would change it at every release."""
    document = openapi(NATIVE)
    document["info"]["version"] = "1"
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True, default=str) + "\n"


def main() -> int:
    if "--check" not in sys.argv:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text():
        return 0
    print("ui/openapi.json is not what the server says; run: make ui-types")
    return 1


if __name__ == "__main__":
    sys.exit(main())
