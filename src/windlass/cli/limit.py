"""`windlass limit`: how hard services may be called, by key."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.printing import print_line
from windlass.cli.views import LIMIT_FIELDS, RULE_FIELDS, limit_columns, rule_columns
from windlass.client import Client
from windlass.client.shapes import LimitInfo, LimitRuleInfo, Page
from windlass.model.errors import NotFound


@click.group()
def limit() -> None:
    """Look at limits by key, and change them while everything runs.

    A key is what a definition's `limits` make of it, such as `bank:42`. `service:NAME` is for all
    tasks of a service, `image:NAME` for all pods of an image, `tenant` for all of the tenant's,
    `budget:UNIT` for what all of those use up (tokens, money, attempts, launches, seconds),
    `retries` for attempts of tasks that have failed before, `env:NAME` for sessions of an
    environment and `envs` for all of the tenant's. `quota:runs` (or `tasks`, `envs`, `cpu`,
    `memory` in MiB, `gpu`, `storage` in MiB) is what the tenant may have at once, and
    `quota:runs@PROJECT` what one of its projects may.
    """


@limit.command("set")
@click.argument("pattern")
@click.option("--max", "most", type=click.FloatRange(min=0), help="At once; 0 stops it.")
@click.option("--rate", type=click.IntRange(min=0), help="Attempts that may begin; 0 lifts it.")
@click.option("--per", "per_s", type=float, default=1.0, show_default=True, help="… in seconds.")
@click.option(
    "--burst",
    type=click.IntRange(min=1),
    help="How many may begin at once after a pause; 1 in 100 of the rate if left out.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    help="What may be used up in all, of `budget:tokens`, or `budget:tokens:RUN`.",
)
@click.option(
    "--trip-after",
    type=click.IntRange(min=0),
    help="Failures in a row that open the breaker of `service:NAME` or `image:NAME`; 0 is none.",
)
@click.option("--reset", "reset_s", type=float, default=30.0, show_default=True, help="… seconds.")
@json_option
@with_client
def set_(
    client: Client,
    pattern: str,
    most: float | None,
    rate: int | None,
    per_s: float,
    burst: int | None,
    budget: float | None,
    trip_after: int | None,
    reset_s: float,
    as_json: bool,
) -> None:
    """Say what a key allows, or all that begin so: `bank:*`. It wins over definitions."""
    made = client.set_limit(
        pattern,
        max=most,
        rate=rate,
        per_s=per_s,
        burst=burst,
        budget=budget,
        trip_after=trip_after,
        reset_s=reset_s,
    )
    output.show_fields(made, RULE_FIELDS, as_json=as_json)


@limit.command("ls")
@click.argument("prefix", default="")
@click.option("--rules", is_flag=True, help="The rules rather than the keys in use.")
@limit_option
@wide_option
@json_option
@with_client
def list_limits(
    client: Client, prefix: str, rules: bool, limit: int, wide: bool, as_json: bool
) -> None:
    """List the keys in use, or those that begin so; with `--rules` what was set."""
    if rules:

        def fetch_rules(some: int, cursor: str | int) -> Page[LimitRuleInfo]:
            return client.limit_rules(limit=some, cursor=cursor)

        made = first(limit, fetch_rules)
        output.show_rows(
            made.items, rule_columns(), RULE_FIELDS, as_json=as_json, wide=wide, empty="no rules"
        )
        output.say_more(made.next, limit)
        return

    def fetch(some: int, cursor: str | int) -> Page[LimitInfo]:
        return client.limits(prefix=prefix, limit=some, cursor=cursor)

    found = first(limit, fetch)
    empty = "no keys are in use"
    output.show_rows(
        found.items, limit_columns(), LIMIT_FIELDS, as_json=as_json, wide=wide, empty=empty
    )
    output.say_more(found.next, limit)


@limit.command()
@click.argument("key")
@json_option
@with_client
def show(client: Client, key: str, as_json: bool) -> None:
    """Show one key."""
    found = client.limits(key=key).items
    if not found:
        raise NotFound(f'"{key}" is not in use; `windlass limit ls` lists what is')
    output.show_fields(found[0], LIMIT_FIELDS, as_json=as_json)


@limit.command()
@click.argument("pattern")
@with_client
def rm(client: Client, pattern: str) -> None:
    """Remove a rule: definitions say again what its keys allow."""
    client.remove_limit(pattern)
    print_line(f"removed the rule on {pattern}")
