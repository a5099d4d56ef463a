"""Checks that no other tool makes: size, imports in functions, stray blanks, machine paths.

Prints each problem as `path:line: reason` and exits 1 if there is any.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 450
OWN_PACKAGE = "windlass"
# These start things by name, so they may import late to keep start-up short.
LATE_IMPORT_FOLDERS = ("src/windlass/cli/", "src/windlass/wiring/")
TAB_FILES = (".py", ".sql", ".md", ".toml", ".yaml", ".yml", ".ini", ".ts", ".tsx", ".css", ".json")
# What a program printed is kept to the byte.
VERBATIM_FOLDERS = ("tests/golden/",)
# The brackets keep this file from reporting itself.
MACHINE_PATH = re.compile(r"(?<![\w.}/-])/(?:wor[k]|roo[t])/")
UNRELEASED = re.compile(r"^## \[?Unreleased\]?", re.MULTILINE)


class Problem(NamedTuple):
    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


def problems_in(path: str, text: str) -> list[Problem]:
    """Everything wrong with one file."""
    found = [*_machine_paths(path, text)]
    if not path.startswith(VERBATIM_FOLDERS):
        found += _blanks(path, text)
    if path.endswith(".py") and path.startswith(("src/", "tests/")):
        found += _file_length(path, text)
        found += _python(path, text)
    if path == "CHANGELOG.md" and not UNRELEASED.search(text):
        found.append(Problem(path, 1, "has no Unreleased heading"))
    return sorted(found)


def problems_under(root: Path) -> list[Problem]:
    """Everything wrong with the files git tracks or would track."""
    found: list[Problem] = []
    names = _tracked(root)
    if "CHANGELOG.md" not in names:
        found.append(Problem("CHANGELOG.md", 1, "is missing"))
    for name in names:
        try:
            text = (root / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # binary, deleted but not yet committed, or a link to a folder
        found += problems_in(name, text)
    return found


def main() -> int:
    found = problems_under(Path(__file__).resolve().parent.parent)
    for problem in found:
        print(problem)
    return 1 if found else 0


def _tracked(root: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.split("\0") if name)


def _machine_paths(path: str, text: str) -> Iterator[Problem]:
    for number, line in _lines(text):
        if MACHINE_PATH.search(line):
            yield Problem(path, number, "names a path of one machine")


def _blanks(path: str, text: str) -> Iterator[Problem]:
    tabs_matter = PurePosixPath(path).suffix in TAB_FILES
    for number, line in _lines(text):
        if line != line.rstrip():
            yield Problem(path, number, "ends in white space")
        elif tabs_matter and "\t" in line:
            yield Problem(path, number, "holds a tab")


def _file_length(path: str, text: str) -> Iterator[Problem]:
    length = len(text.split("\n")) - text.endswith("\n")
    if length > FILE_LINES_MAX:
        reason = f"file has {length} lines, at most {FILE_LINES_MAX}: look for the second concept"
        yield Problem(path, FILE_LINES_MAX + 1, reason)


def _python(path: str, text: str) -> Iterator[Problem]:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield Problem(path, error.lineno or 1, f"does not parse: {error.msg}")
        return
    late_imports_matter = path.startswith("src/") and not path.startswith(LATE_IMPORT_FOLDERS)
    late: set[tuple[int, str]] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LINES_MAX:
            reason = f'function "{node.name}" has {length} lines, at most {FUNCTION_LINES_MAX}'
            yield Problem(path, node.lineno, reason)
        if late_imports_matter:
            late.update(_own_imports(node))
    for line, module in late:
        yield Problem(path, line, f"imports {module} inside a function: move one of the modules")


def _own_imports(function: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(function):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=module, level=0):
                modules = [module or ""]
            case ast.ImportFrom(module=module, level=level):
                modules = [f"{OWN_PACKAGE}.({'.' * level}{module or ''})"]
            case _:
                continue
        for module in modules:
            if module.split(".")[0] == OWN_PACKAGE:
                yield node.lineno, module


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.split("\n"), start=1)


if __name__ == "__main__":
    sys.exit(main())
