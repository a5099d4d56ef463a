"""`windlass dev`, `server`, `db` and `bench`: options in, the wiring does the rest."""

import ipaddress
import sys
from pathlib import Path
from typing import Any

import click

from windlass.cli.kube_options import kube_options
from windlass.cli.settings import F, database_url, setting
from windlass.wiring.options import ServerOptions

ROLES = frozenset({"api", "control"})
LOOPBACK = ("127.0.0.1", "::1", "localhost")


PORT = click.IntRange(0, 65535)
SHOWN_TO_WORKERS = (
    "What push workers are shown, so that they know who calls: their own --push-token."
)


def lease_option(command: F) -> F:
    return setting(
        "--lease-s",
        type=click.FloatRange(min=0.5),
        default=30.0,
        show_default=True,
        help="Seconds after which work is taken back from a worker not heard of.",
    )(command)


def quiet_option(command: F) -> F:
    return setting("--quiet", is_flag=True, help="Print nothing but errors.")(command)


@click.command()
@setting(
    "--port",
    type=PORT,
    default=7700,
    show_default=True,
    help="Where to listen; the next free one if it is taken. 0: any.",
)
@setting("--host", default="127.0.0.1", show_default=True, help="A loopback address to listen on.")
@setting("--db", default="./.windlass/dev.db", show_default=True, help="A file or a URL.")
@lease_option
@setting("--allow-scripts", is_flag=True, help="Let definitions run commands on this machine.")
@setting("--push-token", default="", help=SHOWN_TO_WORKERS)
@setting("--no-example", is_flag=True, help="Do not publish and run the example flow.")
@quiet_option
def dev(
    port: int,
    host: str,
    db: str,
    lease_s: float,
    allow_scripts: bool,
    push_token: str,
    no_example: bool,
    quiet: bool,
) -> None:
    """Run everything in one process, at http://127.0.0.1:7700: server, worker and an example.

    No tokens needed.
    """
    if host not in LOOPBACK:
        hint = "use `windlass server` to be reachable from elsewhere"
        raise click.UsageError(f"dev needs no tokens, so it listens on loopback only; {hint}")
    from windlass.wiring import commands

    options = ServerOptions(
        host=host,
        port=port,
        db=database_url(db),
        no_auth=True,
        lease_s=lease_s,
        allow_scripts=allow_scripts,
        push_token=push_token,
        example=not no_example,
        quiet=quiet,
    )
    sys.exit(commands.dev(options))


@click.command()
@setting(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; 0.0.0.0 is every one of this machine.",
)
@setting("--port", type=PORT, default=8070, show_default=True, help="Where to listen. 0: any.")
@setting(
    "--db",
    default="sqlite:///windlass.db",
    show_default=True,
    also=("SCHEDULER_DB",),
    help="A file (SQLite), or sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME.",
)
@setting("--role", "roles", default="api,control", show_default=True, help="api, control or both.")
@setting("--admin-token", default="", help="A bootstrap token; better set as a variable.")
@setting("--no-auth", is_flag=True, help="Ask for no tokens; on a loopback host only.")
@setting(
    "--session-s",
    type=click.FloatRange(min=30),
    default=900.0,
    show_default=True,
    help="Seconds for which a user who signed in is not asked again.",
)
@setting(
    "--login-tries",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How often a minute somebody may sign in in vain, by user and address.",
)
@setting(
    "--trusted-proxy",
    multiple=True,
    help="Address or network of a proxy whose X-Forwarded-For and -Proto count; repeatable.",
)
@setting(
    "--connections-max",
    type=click.IntRange(min=16),
    default=4096,
    show_default=True,
    help="HTTP connections at once; one more replaces the oldest that asked for nothing.",
)
@setting(
    "--head-s",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds a caller may take to send the head of a request.",
)
@lease_option
@setting("--allow-scripts", is_flag=True, help="Let definitions run commands on this machine.")
@setting(
    "--push-allow",
    multiple=True,
    help="Networks or host patterns of push workers, as 10.0.0.0/8 or *.internal; repeatable.",
)
@setting("--push-token", default="", help=SHOWN_TO_WORKERS)
@setting(
    "--link-tenant",
    default="default",
    show_default=True,
    help="What workers on links must call their tenant; whose they are, their token says.",
)
@setting("--tls-cert", default="", help="Serve over TLS with this certificate (PEM).")
@setting("--tls-key", default="", help="Its key, if it is in another file.")
@setting("--tls-client-ca", default="", help="Take client certificates of these authorities.")
@setting("--data-dir", default="", help="The folder of packages and uploads; else beside the db.")
@setting(
    "--blobs",
    type=click.Choice(["files", "database"]),
    default=None,
    help="Where those are kept; else in PostgreSQL, or in files beside an SQLite file.",
)
@setting(
    "--trust-key",
    multiple=True,
    help="A public key whose packages are trusted, as `windlass pkg keygen` shows it; repeatable.",
)
@setting("--require-signature", is_flag=True, help="Refuse packages no trusted key has signed.")
@setting("--strict-workflows", is_flag=True, help="Refuse workflows that have warnings.")
@setting(
    "--cors-origin",
    multiple=True,
    help="Whose pages may call the PocketFlow API, as https://ui.internal, or *; repeatable.",
)
@setting(
    "--url-tokens",
    is_flag=True,
    help="Take tokens in addresses of the PocketFlow API: /t/TOKEN/api/… or ?token=TOKEN.",
)
@setting(
    "--retry-budget-per-minute",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Retries of one tenant that may begin in a minute; 0 is no bound.",
)
@setting(
    "--retry-budget-concurrent",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Retries of one tenant that may be out at once; 0 is no bound.",
)
@setting(
    "--image-trip-after",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Pods in a row whose image cannot be had that open its breaker; 0 is no breaker.",
)
@setting(
    "--image-reset-s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="For how long that breaker is open before one pod is tried.",
)
@setting(
    "--tool-effects",
    default="",
    help="Effect classes of tools: deploy=external_irreversible,ping=external_read,….",
)
@kube_options
@setting(
    "--env-docker",
    default="",
    help="Docker's API (Docker or podman) to make containers with: unix:///… or tcp://….",
)
@setting("--env-browser", default="", help="The Chromium to make browser sessions with.")
@setting(
    "--advertise",
    default="",
    help="This process's own URL, told to every `windlass env-host`; else where it listens.",
)
@setting(
    "--env-noop/--no-env-noop",
    default=False,
    help="Pretend environments of the kind noop, to try flows without a runtime.",
)
@setting(
    "--env-lease-s",
    type=click.FloatRange(min=1),
    default=1800.0,
    show_default=True,
    help="Seconds a place that was made for a task waits for somebody to claim the task.",
)
@setting(
    "--bus",
    default="",
    help="Where events of runs are published: nats://HOST:4222 (JetStream) or redis://HOST:6379/0.",
)
@setting(
    "--bus-prefix",
    default="windlass",
    show_default=True,
    help="What subjects on the bus begin with, as in PREFIX.run.event.RUN.TYPE.",
)
@setting(
    "--board",
    default="",
    help="Where the blackboard is copied to for readers outside: nats://HOST:4222 (KV), redis://….",
)
@setting(
    "--redis",
    default="",
    help="Redis whose stream ff:stream:task says what became of pods: redis://HOST:PORT/0, ….",
)
@setting(
    "--facts",
    default="",
    help="NATS on which workers state what became of attempts: PREFIX.attempt.fact.>.",
)
@setting(
    "--no-worker-s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds after which a PocketFlow call that nobody is there for fails.",
)
@setting(
    "--worker-kept-days",
    type=click.FloatRange(min=0.01),
    default=30.0,
    show_default=True,
    help="Days for which workers nobody has heard of are remembered.",
)
@quiet_option
def server(
    host: str,
    port: int,
    db: str,
    roles: str,
    admin_token: str,
    no_auth: bool,
    session_s: float,
    login_tries: int,
    trusted_proxy: tuple[str, ...],
    connections_max: int,
    head_s: float,
    lease_s: float,
    allow_scripts: bool,
    push_allow: tuple[str, ...],
    push_token: str,
    link_tenant: str,
    tls_cert: str,
    tls_key: str,
    tls_client_ca: str,
    data_dir: str,
    blobs: str | None,
    trust_key: tuple[str, ...],
    require_signature: bool,
    strict_workflows: bool,
    cors_origin: tuple[str, ...],
    url_tokens: bool,
    quiet: bool,
    **as_given: Any,
) -> None:
    """Run a server. It needs tokens: --admin-token, then `windlass token create`."""
    if no_auth and host not in LOOPBACK:
        raise click.UsageError("--no-auth is for loopback hosts only; give --admin-token instead")
    from windlass.wiring import commands

    options = ServerOptions(
        host=host,
        port=port,
        db=database_url(db),
        roles=read_roles(roles),
        admin_token=admin_token,
        no_auth=no_auth,
        session_s=session_s,
        login_tries=login_tries,
        trusted_proxies=read_networks(trusted_proxy),
        connections_max=connections_max,
        head_s=head_s,
        lease_s=lease_s,
        allow_scripts=allow_scripts,
        push_allow=tuple(item for given in push_allow for item in given.split(",") if item),
        push_token=push_token,
        link_tenant=link_tenant,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
        data_dir=data_dir,
        blobs=blobs or "",
        trust_keys=trust_key,
        require_signature=require_signature,
        strict_workflows=strict_workflows,
        cors_origins=tuple(item for given in cors_origin for item in given.split(",") if item),
        url_tokens=url_tokens,
        example=False,
        quiet=quiet,
        **as_given,
    )
    sys.exit(commands.server(options))


def read_roles(given: str) -> frozenset[str]:
    roles = frozenset(role.strip() for role in given.split(",") if role.strip())
    unknown = roles - ROLES
    if unknown or not roles:
        raise click.UsageError(f"--role is api, control, or api,control; not {given!r}")
    return roles


def read_networks(given: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses and networks; a name could be anybody's tomorrow."""
    items = tuple(item.strip() for text in given for item in text.split(",") if item.strip())
    for item in items:
        try:
            ipaddress.ip_network(item)
        except ValueError as error:
            raise click.UsageError(f"--trusted-proxy {item!r}: {error}") from error
    return items


@click.group()
def db() -> None:
    """Prepare a database, and back it up."""


@db.command()
@setting("--db", "url", required=True, also=("SCHEDULER_DB",), help="A file or a URL.")
def migrate(url: str) -> None:
    """Bring a database's tables up to this release."""
    from windlass.wiring import commands

    sys.exit(commands.migrate(database_url(url)))


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
@setting("--db", "url", required=True, also=("SCHEDULER_DB",), help="A file or a URL.")
@setting("--data-dir", default="", help="The folder of packages and uploads; else beside the db.")
def backup(target: Path, url: str, data_dir: str) -> None:
    """Copy a database and the files beside it into the folder TARGET, while servers run."""
    from windlass.wiring import commands

    sys.exit(commands.back_up(database_url(url), data_dir, target))


@db.command()
@setting("--db", "url", required=True, also=("SCHEDULER_DB",), help="A file or a URL.")
def status(url: str) -> None:
    """Say which release's tables a database has."""
    from windlass.wiring import commands

    sys.exit(commands.db_status(database_url(url)))


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def bench(args: tuple[str, ...]) -> None:
    """Measure throughput and latency."""
    try:
        from windlass.testing.bench import main as benchmark
        from windlass.testing.servers import ServerError
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'bench needs "{error.name}", which an installed windlass does not bring along;'
            " run it in a checkout, after `make setup`"
        ) from error
    try:
        sys.exit(benchmark.main(list(args)))
    except ServerError as error:
        raise click.ClickException(f"bench needs real servers: {error}") from error
