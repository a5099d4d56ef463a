"""The entry point: `windlass COMMAND …`, and what its exit code means."""

import sys

import click

from windlass import __version__
from windlass.cli.lazy import LazyGroup

HOME = "windlass.cli"
COMMANDS = {
    "init": (f"{HOME}.init:init", "Write a small flow and worker to begin with."),
    "dev": (f"{HOME}.server:dev", "Run everything in one process, for trying things out."),
    "server": (f"{HOME}.server:server", "Run a server."),
    "worker": (f"{HOME}.worker:worker", "Run services for a server, or list workers."),
    "collector": (f"{HOME}.collector:collector", "Watch pods and tell what became of them."),
    "flow": (f"{HOME}.flow:flow", "Publish and look at flows."),
    "run": (f"{HOME}.run:run", "Start, follow and steer runs."),
    "plan": (f"{HOME}.plan:plan", "Start plans for goals, and look at them."),
    "hint": (f"{HOME}.plan:hint", "Tell a plan something, or have it made anew."),
    "why": (f"{HOME}.run:why", "Say in one line what a run waits for."),
    "inbox": (f"{HOME}.inbox:inbox", "Answer what waits for a person."),
    "action": (f"{HOME}.action:action", "See what attempts did outside; approve what stays done."),
    "dead": (f"{HOME}.dead:dead", "Look at what was given up for good; replay or drop it."),
    "pkg": (f"{HOME}.pkg:pkg", "Make, publish and install packages of nodes."),
    "env": (f"{HOME}.env:env", "Make environments, and look into those that are leased."),
    "env-host": (f"{HOME}.env_host:env_host", "Offer containers and browsers of this machine."),
    "image": (f"{HOME}.image:image", "Have images of containers pulled or built."),
    "pod": (f"{HOME}.pod:pod", "See which attempts are pods, and how far they are."),
    "limit": (f"{HOME}.limit:limit", "Look at limits by key, and change them."),
    "tenant": (f"{HOME}.tenant:tenant", "List and make tenants."),
    "token": (f"{HOME}.token:token", "Make and revoke API tokens."),
    "user": (f"{HOME}.user:user", "Add and change users."),
    "db": (f"{HOME}.server:db", "Prepare a database."),
    "bench": (f"{HOME}.server:bench", "Measure throughput and latency."),
    "info": (f"{HOME}.info:info", "Say which server this talks to, and how it is."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="windlass")
def cli() -> None:
    """Durable orchestration: long work that survives any crash.

    Every setting is also a WINDLASS_* variable. Exit codes: 0 ok, 1 the run failed, 2 usage,
    3 not found, 4 not allowed, 5 no server, 124 timed out, 130 interrupted.
    """


def main() -> None:
    """Run a command and exit."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        code = 0  # whoever read our output has read enough
        sys.stderr.close()
    except Exception as error:  # noqa: BLE001  one translation of errors for the whole shell
        from windlass.cli.failures import report

        code = report(error)
    sys.exit(code if isinstance(code, int) else 0)
