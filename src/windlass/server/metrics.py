"""Prometheus metrics: counters kept here, gauges read when somebody looks."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from windlass.engine.engine import Engine
from windlass.model.budgets import SCALES, budget_key, shown, unit_of
from windlass.model.dead_letters import KINDS
from windlass.model.limits import QUOTAS, LimitUse
from windlass.model.quotas import MEASURED, project_of, what_of
from windlass.ports.store import Cond
from windlass.protocol.exposition import label
from windlass.server.routes import Route


class Metrics:
    """What the server has done since it started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def request(self, route: Route, status: int, seconds: float) -> None:
        self._requests[route.method, route.path, status] += 1
        self._seconds[route.method, route.path] += seconds

    async def text(self, engine: Engine, link: Sequence[str] = ()) -> str:
        lines: list[str] = list(link)

        def family(name: str, kind: str, help_: str) -> None:
            lines.extend((f"# HELP {name} {help_}", f"# TYPE {name} {kind}"))

        family("windlass_runs", "gauge", "Runs by state.")
        for state, count in (await engine.run_counts.get(engine.store, engine.tenant)).items():
            lines.append(f'windlass_runs{{state="{state}"}} {count}')
        family("windlass_queue_tasks", "gauge", "Tasks ready and not claimed, by queue.")
        for row in await engine.store.query("count_queues"):
            lines.append(f'windlass_queue_tasks{{queue="{label(row["queue"])}"}} {row["n"]}')
        family("windlass_attempts_held", "gauge", "Live attempts by worker.")
        for row in await engine.store.query("count_held", tenant=engine.tenant):
            worker = label(row["worker_id"])
            lines.append(f'windlass_attempts_held{{worker="{worker}"}} {row["n"]}')
        lines += await limit_lines(engine)
        family("windlass_events_total", "counter", "Events committed by this process, by type.")
        for kind, count in sorted(engine.feed.counts.items()):
            lines.append(f'windlass_events_total{{type="{kind}"}} {count}')
        family("windlass_passes_total", "counter", "Group commits made by this process.")
        lines.append(f"windlass_passes_total {engine.advance.passes}")
        family("windlass_effects", "gauge", "Effects to be done, and dead ones nobody could do.")
        for row in await engine.system.store.query("count_effects"):
            lines.append(f'windlass_effects{{state="{row["state"]}"}} {row["n"]}')
        family("windlass_dead_letters", "gauge", "What was given up for good, by kind.")
        found = await engine.store.query("count_dead_letters", tenant=engine.tenant)
        counts = {**dict.fromkeys(KINDS, 0), **{row["kind"]: row["n"] for row in found}}
        lines += [f'windlass_dead_letters{{kind="{kind}"}} {n}' for kind, n in counts.items()]
        family("windlass_env_sessions", "gauge", "Environments that are leased, by kind and state.")
        for row in await engine.store.query("count_env_sessions", tenant=engine.tenant):
            labels = f'kind="{label(row["kind"])}",state="{row["state"]}"'
            lines.append(f"windlass_env_sessions{{{labels}}} {row['n']}")
        family("windlass_facts_total", "counter", "Facts stated here, by what became of them.")
        for outcome, count in sorted(engine.fact_counts.items()):
            lines.append(f'windlass_facts_total{{outcome="{outcome}"}} {count}')
        family("windlass_loop_failures_total", "counter", "Failures of background loops.")
        for duty in engine.duties.all.values():
            lines.append(f'windlass_loop_failures_total{{loop="{duty.name}"}} {duty.failures}')
        family("windlass_http_requests_total", "counter", "Requests by route and status.")
        for (method, path, status), count in sorted(self._requests.items()):
            labels = f'method="{method}",path="{label(path)}",status="{status}"'
            lines.append(f"windlass_http_requests_total{{{labels}}} {count}")
        family("windlass_http_seconds_total", "counter", "Time spent on requests by route.")
        for (method, path), seconds in sorted(self._seconds.items()):
            labels = f'method="{method}",path="{label(path)}"'
            lines.append(f"windlass_http_seconds_total{{{labels}}} {seconds:.6f}")
        return "\n".join(lines) + "\n"


BUDGETS_MAX = 400
QUOTAS_MAX = 1_000
KEYS_MAX = 20
"""Keys that are named in metrics: those most waited for. There may be a hundred thousand."""


async def limit_lines(engine: Engine) -> list[str]:
    """Limits by key: the sums of all keys, and those that are waited for most."""
    lines = [
        "# HELP windlass_limits Keys of limits in use, what is in use of them, and who waits.",
        "# TYPE windlass_limits gauge",
    ]
    for row in await engine.store.query("sum_limits", tenant=engine.tenant):
        lines += [f'windlass_limits{{of="{name}"}} {row[name] or 0}' for name in row]
    lines.append("# HELP windlass_limit_waiting Tasks that wait for a key, for the busiest keys.")
    lines.append("# TYPE windlass_limit_waiting gauge")
    uses = await engine.store.page(
        LimitUse, [Cond("parked", ">", 0)], order="parked", descending=True, limit=KEYS_MAX
    )
    for use in uses:
        labels = f'tenant="{use.tenant}",key="{label(use.key)}"'
        lines.append(f"windlass_limit_waiting{{{labels}}} {use.parked}")
    lines.append(
        "# HELP windlass_breaker_open Services and images whose breaker is open or half-open."
    )
    lines.append("# TYPE windlass_breaker_open gauge")
    tripped = [Cond("tripped", "=", 1)]
    for use in await engine.store.page(LimitUse, tripped, limit=KEYS_MAX):
        lines.append(f'windlass_breaker_open{{tenant="{use.tenant}",key="{label(use.key)}"}} 1')
    return [*lines, *await budget_lines(engine), *await quota_lines(engine)]


async def quota_lines(engine: Engine) -> list[str]:
    """What is in use of quotas, of tenants and of their projects."""
    lines = [
        "# HELP windlass_quota Quotas: what may be in use at once, and what is.",
        "# TYPE windlass_quota gauge",
    ]
    prefix = [Cond("key", ">=", QUOTAS), Cond("key", "<", QUOTAS + "\x7f")]
    for use in await engine.store.page(LimitUse, prefix, limit=QUOTAS_MAX):
        what = what_of(use.key)
        at = f'tenant="{use.tenant}",project="{project_of(use.key)}",what="{what}"'
        amounts = {"in_use": use.in_use, "waiting": use.parked}
        if use.max is not None:
            amounts["max"] = use.max
        scale = MEASURED.get(what, 1)
        for name, amount in amounts.items():
            value = amount if name == "waiting" else amount / scale
            lines.append(f'windlass_quota{{{at},of="{name}"}} {value:g}')
    return lines


async def budget_lines(engine: Engine) -> list[str]:
    """What tenants have spent. Budgets of runs and tasks are too many to be named."""
    lines = [
        "# HELP windlass_budget Budgets of tenants: what may be used up, spent and reserved.",
        "# TYPE windlass_budget gauge",
    ]
    keys = Cond("key", "in", [budget_key(unit) for unit in SCALES])
    for use in await engine.store.page(LimitUse, [keys], limit=BUDGETS_MAX):
        unit = unit_of(use.key)
        amounts = {"spent": use.spent, "reserved": use.reserved}
        if use.budget is not None:
            amounts["budget"] = use.budget + use.raised
        for name, amount in amounts.items():
            labels = f'tenant="{use.tenant}",unit="{unit}",of="{name}"'
            lines.append(f"windlass_budget{{{labels}}} {shown(unit, amount)}")
    return lines
