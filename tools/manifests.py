"""Writes deploy/*.yaml from the chart's templates and defaults, for clusters without Helm.

Without an option it rewrites them; `--check` only says which differ and exits 1 if any does. What
our chart uses of Helm's templates is rendered here, as no helm is at hand where the tests run:
`{{ .Values.a.b }}`, `.Release.Namespace`, `| quote`, and `{{- if … }}` to `{{- end }}` on lines of
their own. Anything else is refused.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm" / "windlass"
PARTS = ("server", "collector")
NOTE = "# Written by tools/manifests.py from deploy/helm/windlass; edit that, then run it again.\n"
_IF = re.compile(r"^\{\{- if (\S+) \}\}$")
_VALUE = re.compile(r"\{\{ (\S+?)( \| quote)? \}\}")


def template(part: str) -> str:
    return (CHART / "templates" / f"{part}.yaml").read_text()


def page(part: str) -> Path:
    return ROOT / "deploy" / f"{part}.yaml"


def manifests(part: str) -> str:
    return NOTE + render(template(part), values())


def main() -> int:
    differ = [part for part in PARTS if _kept(part) != manifests(part)]
    for part in differ:
        if "--check" in sys.argv[1:]:
            print(f"{page(part).relative_to(ROOT)}: differs from the chart; run tools/manifests.py")
        else:
            page(part).write_text(manifests(part))
    return 1 if differ and "--check" in sys.argv[1:] else 0


def _kept(part: str) -> str:
    return page(part).read_text() if page(part).exists() else ""


def values() -> dict[str, Any]:
    return dict(yaml.safe_load((CHART / "values.yaml").read_text()))


def render(template: str, settings: dict[str, Any], namespace: str = "flowforge-system") -> str:
    scope = {"Values": settings, "Release": {"Namespace": namespace}}
    lines: list[str] = []
    shown = [True]
    for line in template.splitlines():
        if begins := _IF.match(line.strip()):
            shown.append(shown[-1] and bool(_look_up(scope, begins[1])))
        elif line.strip() == "{{- end }}":
            shown.pop()
        elif shown[-1]:
            lines.append(_VALUE.sub(lambda found: _text(scope, found), line))
    assert shown == [True], "an if without its end"
    text = "\n".join(lines) + "\n"
    assert "{{" not in text, "the chart uses more of Helm than we can check"
    return text


def _look_up(scope: dict[str, Any], path: str) -> Any:
    found: Any = scope
    for name in path.removeprefix(".").split("."):
        found = found[name]  # a value nobody declared is a mistake
    return found


def _text(scope: dict[str, Any], found: re.Match[str]) -> str:
    value = _look_up(scope, found[1])
    return json.dumps(str(value)) if found[2] else str(value)


if __name__ == "__main__":
    sys.exit(main())
