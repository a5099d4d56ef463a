"""The UI's types come from the server's own description; this notices when the two drift apart."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_ui_knows_the_api_as_it_is() -> None:
    script = ROOT / "ui" / "scripts" / "openapi.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
