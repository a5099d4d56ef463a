"""`windlass worker TARGET` runs services, `windlass worker agents` models; `ls` lists workers."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.cli import output
from windlass.cli.agents import agents
from windlass.cli.api import first, json_option, limit_option, wide_option, with_client
from windlass.cli.settings import setting
from windlass.cli.views import WORKER_FIELDS, worker_columns
from windlass.client import Client

if TYPE_CHECKING:
    from windlass.worker import Worker
    from windlass.worker.settings import WorkerSettings

CONCURRENCY = 32


def default_mode() -> str:
    """`pull`, unless a variable of AstraFlow's workers asks for their WebSocket or names one."""
    wanted = os.environ.get("ASTRA_WORKER_TRANSPORT", "")
    named = not wanted and os.environ.get("ASTRA_WORKER_SCHEDULER_WS_URL")
    return "link" if wanted == "websocket" or named else "pull"


class TargetGroup(click.Group):
    """A group whose default command takes whatever is not the name of another as its TARGET."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "start", start, args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Without a word the environment may have said everything.
        if not args and os.environ.get("WINDLASS_MODE", default_mode()) == "link":
            args = ["start"]
        # Options before TARGET belong to it, so the group must not try to read them.
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


@click.group(cls=TargetGroup, subcommand_metavar="TARGET [OPTIONS] | agents | ls")
def worker() -> None:
    """Run services for a server, or list workers.

    TARGET is `builtin`, `packages` (installed packages, on a live link), or module:worker for a
    windlass.Worker of your own. Options of TARGET are shown by `windlass worker start --help`.
    `agents` are planners, workers and verifiers that think with a language model.
    """


worker.add_command(agents)


@worker.command()
@click.argument("target", default="packages")
@setting(
    "--server",
    "--url",
    default="",
    envvar=["WINDLASS_URL", "WINDLASS_SERVER"],
    help="The server's URL; http://127.0.0.1:7700 if nothing says otherwise.",
)
@setting(
    "--mode",
    "--transport",
    type=click.Choice(("pull", "push", "link")),
    default=default_mode,
    show_default="pull",
    help="Ask the server for work, be called by it, or keep a live link open.",
)
@setting(
    "--concurrency",
    type=click.IntRange(min=1),
    default=None,
    show_default="32",
    help="How many attempts run at once, over all services.",
)
@setting(
    "--id",
    "worker_id",
    default="",
    envvar=["WINDLASS_WORKER_ID"],
    help="This worker's name; else made of host and process.",
)
@setting("--token", default="", help="An API token with the role worker.")
@setting("--listen", default="", help="push: host:port to listen on, as the server reaches it.")
@setting(
    "--push-token", default="", help="push: what the server must present; its own --push-token."
)
@setting(
    "--drain-s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds that running work is given to end after the first signal.",
)
@setting("--services", default="", help="Only these of the target's services: a,b.")
@setting(
    "--wire",
    type=click.Choice(("1", "2")),
    default=None,
    show_default="2",
    help="link: the generation of the wire to speak.",
)
@setting(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="link: answer GET /metrics on this port of loopback.",
)
@setting("--tls-ca", default="", help="The authority that signed the server's certificate (PEM).")
@setting("--tls-cert", default="", help="link: prove who we are by this certificate (PEM).")
@setting("--tls-key", default="", help="link: its key, if it is in another file.")
@setting("--packages-dir", default="", help="link: where packages are installed.")
@setting("--data-dir", default="", help="link: where tasks and resources keep their files.")
@setting("--trust-key", multiple=True, help="link: a public key whose packages are trusted.")
@setting("--require-signature", is_flag=True, help="link: refuse packages no trusted key signed.")
@setting("--allow-hook", multiple=True, help="link: an install hook that may run, or *.")
@click.option("-v", "--verbose", is_flag=True, help="Log every detail.")
def start(
    target: str,
    server: str,
    mode: str,
    concurrency: int | None,
    worker_id: str,
    token: str,
    listen: str,
    push_token: str,
    drain_s: float,
    services: str,
    verbose: bool,
    **on_link: Any,
) -> None:
    """Run the services of TARGET until a signal; the first one lets running work end."""
    from windlass.worker import Worker
    from windlass.worker.link.settings import link_settings, link_url
    from windlass.worker.settings import WorkerSettings, default_id, listen_url, server_url
    from windlass.worker.targets import load_worker

    log_for_people(verbose=verbose)
    names = tuple(name.strip() for name in services.split(",") if name.strip())
    name = worker_id or default_id()
    link = None
    if mode == "link":
        said = link_fields(
            on_link, concurrency=concurrency, worker_id=worker_id, token=token, server=server
        )
        link = link_settings(said, default_id=name, default_url=link_url(server_url("")))
    settings = WorkerSettings(
        server=server_url(server),
        id=link.worker_id if link is not None else name,
        link=link,
        token=token,
        mode=mode,
        concurrency=link.max_parallel if link is not None else concurrency or CONCURRENCY,
        drain_s=drain_s,
        listen=listen_url(listen),
        push_token=push_token,
        tls_ca=on_link["tls_ca"],
        services=names,
    )
    hosted = Worker() if target == "packages" else load_worker(target, names)
    if target == "packages" and mode != "link":
        raise click.UsageError("installed packages run on a live link: add --transport link")
    run_until_signal(hosted, settings)


def run_until_signal(hosted: "Worker", settings: "WorkerSettings") -> None:
    """Serve, and end the process even if handlers do not."""
    from windlass.worker.serve import serve

    all_ended = serve(hosted, settings)
    if not all_ended:
        sys.stderr.flush()
        # Handlers stuck in threads were given back, but Python would wait for them to end.
        os._exit(0)


def link_fields(
    options: dict[str, Any], *, concurrency: int | None, worker_id: str, token: str, server: str
) -> dict[str, Any]:
    """What was said about a link worker, by the names of its settings; the rest is empty."""
    from windlass.worker.link.settings import link_url

    return {
        "url": link_url(server) if server else "",
        "worker_id": worker_id,
        "token": token,
        "max_parallel": concurrency,
        "generation": int(options["wire"] or 0),
        "metrics_port": options["metrics_port"],
        "tls_ca": options["tls_ca"],
        "tls_cert": options["tls_cert"],
        "tls_key": options["tls_key"],
        "trusted_keys": list(options["trust_key"]),
        "require_signature": options["require_signature"],
        "allowed_hooks": list(options["allow_hook"]),
        "packages_dir": Path(options["packages_dir"]) if options["packages_dir"] else None,
        "data_dir": Path(options["data_dir"]) if options["data_dir"] else None,
    }


@worker.command("ls")
@limit_option
@wide_option
@json_option
@with_client
def list_workers(client: Client, limit: int, wide: bool, as_json: bool) -> None:
    """List workers."""
    found = first(limit, lambda some, cursor: client.workers(limit=some, cursor=cursor))
    hint = "no workers; start one with `windlass worker builtin`"
    output.show_rows(
        found.items, worker_columns(), WORKER_FIELDS, as_json=as_json, wide=wide, empty=hint
    )
    output.say_more(found.next, limit)


def log_for_people(*, verbose: bool) -> None:
    from windlass.wiring.log_format import log_to_stderr

    level = logging.DEBUG if verbose else logging.INFO
    log_to_stderr(level, "%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("httpx", "httpx2", "httpcore", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
