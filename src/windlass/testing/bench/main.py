"""`windlass bench`: measures, prints one table, writes one JSON file, compares with a baseline."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from windlass.testing.bench.cases import Case, cases, run_case
from windlass.testing.bench.limits import (
    ROWS_A_TASK,
    postgres_limits,
    python_limits,
    sqlite_limits,
)
from windlass.testing.servers import PostgresServer, postgres

_HIGHER_IS_BETTER = frozenset({"tasks_s", "share"})
_FALL = 0.25
"""How much a ratio may fall below the baseline's before `--check` fails."""


def main(args: list[str] | None = None) -> int:
    options = arguments().parse_args(args)
    chosen = [c for c in cases(quick=options.quick) if not options.only or matches(c, options.only)]
    with tempfile.TemporaryDirectory() as name, postgres(durable=True) as server:
        folder = Path(name)
        limits: Limits = {}
        lines = [measure(case, options.best_of, folder, server, limits) for case in chosen]
    say(f"limits: {', '.join(f'{k} {v:,.0f}' for k, v in flat(limits))}")
    report = {"machine": this_machine(), "limits": limits, "results": lines}
    print(table(lines))
    if options.json:
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    if options.page:
        write_figures(Path(options.page), report)
    if options.check:
        return compare(report, msgspec.json.decode(Path(options.check).read_bytes()))
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="windlass bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small slice that CI runs")
    parser.add_argument("--best-of", type=int, default=3, help="measure each case so often")
    parser.add_argument("--only", default="", help="cases whose name, mode or store contain this")
    parser.add_argument("--json", default="bench.json", help="where to write the report")
    parser.add_argument("--page", default="", help="a Markdown page to write the figures into")
    parser.add_argument("--check", default="", help="fail if a ratio fell by a quarter from here")
    return parser


def matches(case: Case, text: str) -> bool:
    line = f"{case.name} {case.mode} {case.store}".lower()
    return all(word in line for word in text.lower().split())


Limits = dict[str, dict[str, float]]
"""The best that was seen of each figure, by store."""


def machine_now(store: str, server: PostgresServer) -> dict[str, float]:
    """What the machine does at this moment."""
    rows = sqlite_limits() if store == "sqlite" else postgres_limits(server.url)
    os.sync()  # what they wrote is not to be flushed at the expense of the case
    return rows | python_limits()


def keep_best(best: dict[str, float], now: dict[str, float]) -> None:
    for key, value in now.items():
        best[key] = max(value, best.get(key, 0))


def flat(limits: Limits) -> list[tuple[str, float]]:
    return [(f"{s} {k}", value) for s, figures in limits.items() for k, value in figures.items()]


def measure(
    case: Case, best_of: int, folder: Path, server: PostgresServer, limits: Limits
) -> dict[str, Any]:
    """One case, best of several, with the spread between best and worst.

    The machine is measured before each try, and best is compared with best: a shared machine is as
    fast as its neighbours let it be, and not for long.
    """
    tries: list[dict[str, float]] = []
    machine: dict[str, float] = {}
    for _ in range(best_of if not case.aged and case.workload != "w4" else 1):
        keep_best(machine, machine_now(case.store, server))
        tries.append(run_case(case, folder, server, best_of))
    keep_best(limits.setdefault(case.store, {}), machine)
    pick = max if case.figure in _HIGHER_IS_BETTER else min
    best = pick(tries, key=lambda figures: figures[case.figure])
    values = [figures[case.figure] for figures in tries]
    line = {
        "name": case.name,
        "mode": case.mode,
        "store": case.store,
        "figure": case.figure,
        "value": best[case.figure],
        "spread": (max(values) - min(values)) / max(values) if max(values) else 0,
        "target": case.target,
        "ratio": ratio(case, best[case.figure], machine),
        "all": best,
    }
    say(f"{case.name} {case.mode} {case.store}: {best}")
    return line


def ratio(case: Case, value: float, limits: dict[str, float]) -> float | None:
    """What a task's rows and a task's worth of plain Python take, to what a task of ours takes."""
    thinking = 1 / limits["python_s"]
    if case.figure == "tasks_s":
        return value * (ROWS_A_TASK / limits["rows_s"] + thinking)
    if case.figure == "p50_ms":
        return (1 / limits["commits_s"] + thinking) * 1000 / value
    return None


def table(lines: list[dict[str, Any]]) -> str:
    head = f"{'':18}{'mode':10}{'store':10}{'figure':12}{'value':>12}{'spread':>8}{'target':>9}"
    rows = [f"{head}{'ratio':>9}"]
    for line in lines:
        target = "" if line["target"] is None else f"{line['target']:,g}"
        share = "" if line["ratio"] is None else f"{line['ratio']:.3f}"
        rows.append(
            f"{line['name']:18}{line['mode']:10}{line['store']:10}{line['figure']:12}"
            f"{line['value']:>12,.2f}{line['spread']:>8.0%}{target:>9}{share:>9}"
        )
    return "\n".join(rows)


def write_figures(page: Path, report: dict[str, Any]) -> None:
    """Put the table between the page's two `figures` marks."""
    rows = ["| | mode | store | figure | value | target | of the machine's limit |"]
    rows.append("|---|---|---|---|---:|---:|---:|")
    for line in report["results"]:
        target = "" if line["target"] is None else f"{line['target']:,g}"
        share = "" if line["ratio"] is None else f"{line['ratio']:.1%}"
        rows.append(
            f"| {line['name']} | {line['mode']} | {line['store']} | {line['figure']} |"
            f" {line['value']:,.2f} | {target} | {share} |"
        )
    limits = ", ".join(f"{key} {value:,.0f}" for key, value in flat(report["limits"]))
    where = report["machine"]
    rows.append(
        f"\n{where['cores']} cores, Python {where['python']}. Limits in the same run: {limits}."
    )
    before, _, rest = page.read_text().partition(MARK)
    after = rest.partition(MARK)[2] or rest
    page.write_text(f"{before}{MARK}\n{chr(10).join(rows)}\n\n{MARK}{after}")


MARK = "<!-- figures -->"


def compare(report: dict[str, Any], baseline: dict[str, Any]) -> int:
    """Fail where a ratio fell by a quarter or more below the baseline's."""
    before = {key_of(line): line["ratio"] for line in baseline["results"]}
    fallen = 0
    for line in report["results"]:
        old = before.get(key_of(line))
        if old and line["ratio"] and line["ratio"] < old * (1 - _FALL):
            print(f"slower: {key_of(line)}: ratio {line['ratio']:.3f}, was {old:.3f}")
            fallen += 1
    return 1 if fallen else 0


def key_of(line: dict[str, Any]) -> str:
    return f"{line['name']} {line['mode']} {line['store']} {line['figure']}"


def this_machine() -> dict[str, Any]:
    return {"python": platform.python_version(), "cores": os.cpu_count()}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
