"""`windlass info`: which server this talks to, and how it is."""

import click

from windlass import __version__
from windlass.cli import output
from windlass.cli.api import json_option, with_client
from windlass.client import Client


@click.command()
@json_option
@with_client
def info(client: Client, as_json: bool) -> None:
    """Say which server this talks to, and how it is."""
    found = client.info()
    if as_json:
        output.show_json({"url": client.url, "client": __version__, "server": found})
        return
    click.echo(f"url      {client.url}")
    click.echo(f"client   {__version__}")
    click.echo(f"server   {found.version}")
    click.echo(f"store    {found.store}")
    click.echo(f"blobs    {found.blobs}")
    click.echo(f"lease    {found.lease_s:g} s")
    click.echo(f"tokens   {'needed' if found.auth else 'not needed'}")
