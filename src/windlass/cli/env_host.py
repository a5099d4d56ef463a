"""`windlass env-host`: offers containers and browsers of this machine to servers."""

import asyncio
import logging
from pathlib import Path

import click

from windlass.cli.printing import print_line
from windlass.cli.settings import setting

KINDS = ("container", "browser", "noop")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@click.command("env-host")
@setting(
    "--server",
    "--url",
    "servers",
    multiple=True,
    envvar=["WINDLASS_URL", "WINDLASS_SERVER"],
    help="A server's URL; several are offered the same.",
)
@setting("--kinds", default="container,browser", show_default=True, help="What to offer: a,b.")
@setting(
    "--docker",
    default="unix:///var/run/docker.sock",
    show_default=True,
    help="Docker's API, of Docker or podman: unix:///… or tcp://….",
)
@setting("--browser", default="", help="The Chromium to use; else one on PATH.")
@setting("--name", default="", help="What this host is called; places are found again by it.")
@setting(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".windlass/env-host"),
    show_default=True,
    help="Where it keeps browser profiles and what it must remember.",
)
@setting("--token", default="", help="An API token with the role worker.")
@setting("--tls-ca", default="", help="The authority that signed the server's certificate (PEM).")
def env_host(
    servers: tuple[str, ...],
    kinds: str,
    docker: str,
    browser: str,
    name: str,
    state: Path,
    token: str,
    tls_ca: str,
) -> None:
    """Offer the runtimes of this machine to servers, until it is stopped.

    Places outlive it: start it again under the same name, and they are found again.
    """
    from windlass.wiring.env_host import HostSettings, offer_to_all
    from windlass.wiring.envs import host_name, make_host

    wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    for kind in wanted:
        if kind not in KINDS:
            raise click.UsageError(f'--kinds: no "{kind}"; there are {", ".join(KINDS)}')
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    host = make_host(wanted, docker=docker, browser=browser or found_browser(), state=state)
    settings = HostSettings(
        servers or ("http://127.0.0.1:7700",), name or host_name(), token, tls_ca
    )
    print_line(f"{settings.name} offers {', '.join(wanted)} to {', '.join(settings.servers)}")
    try:
        asyncio.run(offer_to_all(host, settings))
    except KeyboardInterrupt:
        return


def found_browser() -> str:
    import shutil

    return next((path for name in BROWSERS if (path := shutil.which(name))), "")
