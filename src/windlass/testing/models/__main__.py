"""`python -m windlass.testing.models SCRIPT [PORT]`: a scripted model until a signal."""

import sys
from pathlib import Path

from windlass.testing.models.script import read_script
from windlass.testing.models.server import ScriptedModels


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: python -m windlass.testing.models SCRIPT [PORT]", file=sys.stderr)
        return 2
    try:
        script = read_script(Path(sys.argv[1]).read_text(encoding="utf-8"))
        port = int(sys.argv[2]) if len(sys.argv) == 3 else 0
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    models = ScriptedModels(script, port)
    print(f"a scripted model answers: windlass worker agents --base-url {models.url}", flush=True)
    models.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
