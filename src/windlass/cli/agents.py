"""`windlass worker agents`: planners, workers and verifiers that think with a language model."""

import click

from windlass.cli.settings import setting
from windlass.model.errors import BadRequest

CONCURRENCY = 8
MISSING = "agents need packages that are not installed; run `pip install 'windlass[agents]'`"


@click.command()
@setting(
    "--server",
    "--url",
    default="",
    envvar=["WINDLASS_URL", "WINDLASS_SERVER"],
    help="The server's URL; http://127.0.0.1:7700 if nothing says otherwise.",
)
@setting(
    "--model",
    "models",
    multiple=True,
    metavar="[PROFILE=]PROVIDER:NAME",
    help="Which model thinks, as in openai:NAME; for one profile, llm.verifier=openai:NAME.",
)
@setting(
    "--base-url",
    default="",
    help="A server that speaks OpenAI's chat completions, instead of the provider's own.",
)
@setting(
    "--profiles",
    default="",
    help="Serve these: a,b; planner.default, llm.default and llm.verifier if nothing is said.",
)
@setting("--tools", multiple=True, metavar="MODULE", help="Offer this module's tools to models.")
@setting(
    "--price-per-mtoken",
    multiple=True,
    metavar="[PROFILE=]PRICE",
    help="What a million tokens cost, to be reported to budgets of money.",
)
@setting(
    "--steps-max",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="How often one attempt may ask its model.",
)
@setting(
    "--model-timeout-s",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="What one answer of a model may take.",
)
@setting(
    "--concurrency",
    type=click.IntRange(min=1),
    default=CONCURRENCY,
    show_default=True,
    help="How many attempts run at once, over all profiles.",
)
@setting(
    "--id",
    "worker_id",
    default="",
    envvar=["WINDLASS_WORKER_ID"],
    help="This worker's name; else made of host and process.",
)
@setting("--token", default="", help="An API token with the role worker.")
@setting("--tls-ca", default="", help="The authority that signed the server's certificate (PEM).")
@setting(
    "--drain-s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds that running work is given to end after the first signal.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every detail.")
def agents(
    server: str,
    models: tuple[str, ...],
    base_url: str,
    profiles: str,
    tools: tuple[str, ...],
    price_per_mtoken: tuple[str, ...],
    steps_max: int,
    model_timeout_s: float,
    concurrency: int,
    worker_id: str,
    token: str,
    tls_ca: str,
    drain_s: float,
    verbose: bool,
) -> None:
    """Serve planning, work and verification with language models, until a signal.

    Keys come from the environment, as the model's provider names them: OPENAI_API_KEY for openai.
    """
    from windlass.agents.effects import load_tools
    from windlass.agents.settings import PROFILES, AgentSettings, by_profile, prices
    from windlass.cli.worker import log_for_people, run_until_signal
    from windlass.worker.settings import WorkerSettings, default_id, server_url

    try:
        from windlass.agents.hosting import agents_worker
    except ImportError as error:
        raise BadRequest(MISSING) from error
    log_for_people(verbose=verbose)
    settings = AgentSettings(
        models=by_profile("--model", models),
        profiles=tuple(names(profiles)) or PROFILES,
        base_url=base_url,
        prices=prices(price_per_mtoken),
        tools=tuple(load_tools(tools)),
        steps_max=steps_max,
        timeout_s=model_timeout_s,
    )
    hosted = agents_worker(settings)
    run_until_signal(
        hosted,
        WorkerSettings(
            server=server_url(server),
            id=worker_id or default_id(),
            token=token,
            concurrency=concurrency,
            drain_s=drain_s,
            tls_ca=tls_ca,
        ),
    )


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
