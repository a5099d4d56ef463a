"""`windlass tenant`: teams that do not see each other's work."""

import click

from windlass.cli import output
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.views import TENANT_FIELDS, tenant_columns
from windlass.client import Client
from windlass.client.shapes import Page, TenantInfo


@click.group()
def tenant() -> None:
    """List and make tenants; this is for operators of the whole system."""


@tenant.command()
@click.argument("name")
@click.option("--description", default="", help="Who they are.")
@json_option
@with_client
def create(client: Client, name: str, description: str, as_json: bool) -> None:
    """Add a tenant; then make tokens in it with `windlass token create --tenant NAME`."""
    made = client.create_tenant(name, description=description)
    output.show_fields(made, TENANT_FIELDS, as_json=as_json)


@tenant.command("weight")
@click.argument("name")
@click.argument("weight", type=click.IntRange(1, 1000))
@json_option
@with_client
def set_weight(client: Client, name: str, weight: int, as_json: bool) -> None:
    """Say how much of what is free NAME gets, beside others that have something waiting."""
    changed = client.set_tenant_weight(name, weight)
    output.show_fields(changed, TENANT_FIELDS, as_json=as_json)


@tenant.command("ls")
@limit_option
@wide_option
@json_option
@with_client
def list_tenants(client: Client, limit: int, wide: bool, as_json: bool) -> None:
    """List tenants."""

    def fetch(some: int, cursor: str | int) -> Page[TenantInfo]:
        return client.tenants(limit=some, cursor=cursor)

    found = first(limit, fetch)
    output.show_rows(
        found.items,
        tenant_columns(),
        TENANT_FIELDS,
        as_json=as_json,
        wide=wide,
        empty="no tenants",
    )
    output.say_more(found.next, limit)
