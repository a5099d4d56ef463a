"""`windlass info`: which server this talks to, and how it is."""

import click

from windlass import __version__
from windlass.cli import output
from windlass.cli.api import json_option, with_client
from windlass.cli.printing import print_line
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
    print_line(f"url      {client.url}")
    print_line(f"client   {__version__}")
    print_line(f"server   {found.version}")
    print_line(f"store    {found.store}")
    print_line(f"blobs    {found.blobs}")
    print_line(f"lease    {found.lease_s:g} s")
    print_line(f"tokens   {'needed' if found.auth else 'not needed'}")
