"""The tidy check reports what it should, where it should, and nothing else."""

import pytest

from tools.tidy import FILE_LINES_MAX, FUNCTION_LINES_MAX, problems_in

SOURCE = "src/windlass/kernel/decide.py"


def reports(path: str, text: str) -> list[str]:
    return [str(problem) for problem in problems_in(path, text)]


def function_of(lines: int) -> str:
    return "def f():\n" + "    pass\n" * (lines - 1)


def test_clean_code_has_no_problems() -> None:
    text = '"""Ours."""\n\nfrom windlass.model import ids\n\n\ndef f() -> None:\n    import json\n'
    assert reports(SOURCE, text) == []


def test_a_function_may_have_as_many_lines_as_allowed_and_no_more() -> None:
    assert reports(SOURCE, function_of(FUNCTION_LINES_MAX)) == []
    text = "x = 1\n" + function_of(FUNCTION_LINES_MAX + 1)
    assert reports(SOURCE, text) == [f'{SOURCE}:2: function "f" has 71 lines, at most 70']


def test_a_long_method_is_found_inside_its_class() -> None:
    body = "        pass\n" * FUNCTION_LINES_MAX
    text = f"class C:\n    async def m(self):\n{body}"
    assert reports("tests/unit/test_c.py", text) == [
        'tests/unit/test_c.py:2: function "m" has 71 lines, at most 70'
    ]


def test_a_file_may_have_as_many_lines_as_allowed_and_no_more() -> None:
    assert reports(SOURCE, "x = 1\n" * FILE_LINES_MAX) == []
    [problem] = reports(SOURCE, "x = 1\n" * (FILE_LINES_MAX + 1))
    assert problem.startswith(f"{SOURCE}:451: file has 451 lines")


def test_size_is_not_limited_outside_src_and_tests() -> None:
    assert reports("docs/conf.py", "x = 1\n" * 1000) == []


@pytest.mark.parametrize(
    "statement",
    ["import windlass.model", "from windlass.model import ids", "from windlass import model"],
)
def test_an_import_of_ours_inside_a_function_is_reported(statement: str) -> None:
    [problem] = reports(SOURCE, f"def f():\n    if True:\n        {statement}\n")
    assert problem.startswith(f"{SOURCE}:3: imports windlass")


def test_a_relative_import_inside_a_nested_function_is_reported_once() -> None:
    text = "def f():\n    def g():\n        from . import retry\n"
    [problem] = reports(SOURCE, text)
    assert problem.startswith(f"{SOURCE}:3: imports")


@pytest.mark.parametrize(
    "path",
    ["src/windlass/cli/main.py", "src/windlass/wiring/system.py", "tests/unit/test_a.py"],
)
def test_late_imports_are_allowed_where_things_are_started_by_name(path: str) -> None:
    assert reports(path, "def f():\n    import windlass.model\n") == []


def test_tabs_and_trailing_blanks_are_reported() -> None:
    assert reports("docs/a.md", "fine\na\tb\nc \n") == [
        "docs/a.md:2: holds a tab",
        "docs/a.md:3: ends in white space",
    ]


def test_a_makefile_needs_its_tabs() -> None:
    assert reports("Makefile", "a:\n\tb\n") == []


def test_golden_files_are_kept_to_the_byte() -> None:
    assert reports("tests/golden/table.json", "a\t\n") == []


@pytest.mark.parametrize("folder", ["work", "root"])
def test_a_path_of_one_machine_is_reported(folder: str) -> None:
    expected = ["docs/a.md:1: names a path of one machine"]
    assert reports("docs/a.md", f"see /{folder}/main\n") == expected
    assert reports("docs/a.md", f'cd "/{folder}/main"\n') == expected


def test_a_folder_of_the_same_name_elsewhere_is_no_machine_path() -> None:
    assert reports("docs/a.md", "GET /api/work/1, ui/root/a, ${HOME}/work/b\n") == []


def test_the_changelog_keeps_an_unreleased_heading() -> None:
    assert reports("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n") == []
    assert reports("CHANGELOG.md", "# Changelog\n") == ["CHANGELOG.md:1: has no Unreleased heading"]


def test_code_that_does_not_parse_is_a_problem_rather_than_a_crash() -> None:
    [problem] = reports(SOURCE, "def f(:\n")
    assert problem.startswith(f"{SOURCE}:1: does not parse")
