"""Writes the generated pages of docs/reference from the code they describe.

Without an option it rewrites them; `--check` only says which differ and exits 1 if any does.
"""

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from windlass.cli.main import cli
from windlass.dialects.plain import Limits as DefinitionLimits
from windlass.engine.engine import Settings
from windlass.kernel.bounds import Limits
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.protocol.reason_words import say
from windlass.server.app import NATIVE, AppOptions
from windlass.server.openapi import openapi
from windlass.testing.bench.main import arguments as bench_arguments

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py; edit the code it describes, then run it again. -->\n"

# The command line


def commands(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command that does something, depth first, with the words that lead to it."""
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    if not isinstance(command, click.Group):
        yield path, command, context
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, f"{path} {name}", context)


def cli_page() -> str:
    parts = [f"{NOTE}\n# Command line", paragraphs(cli.help or "")]
    parts.append("`windlass COMMAND --help` says the same in a terminal.")
    context = click.Context(cli, info_name="windlass", **cli.context_settings)
    for name in cli.list_commands(context):
        head = cli.get_command(context, name)
        assert head is not None
        parts.append(f"## {name}\n\n{paragraphs(head.help or '')}")
        for path, command, inner in commands(head, f"windlass {name}", context):
            if command is not head:
                title = path.removeprefix("windlass ")
                parts.append(f"### {title}\n\n{paragraphs(command.help or '')}")
            parts += usage(path, command, inner)
    return "\n\n".join(parts) + "\n"


def usage(path: str, command: click.Command, context: click.Context) -> list[str]:
    if path == "windlass bench":  # it reads its options itself
        return [f"```\n{bench_help()}\n```"]
    pieces = " ".join(command.collect_usage_pieces(context))
    shown = path.replace("worker start", "worker")  # `start` may be left out, and always is
    parts = [f"```\n{shown} {pieces}\n```"]
    rows = [option_row(option) for option in options_of(command)]
    if rows:
        parts.append(table(("option", "default", "meaning"), rows))
    return parts


def paragraphs(text: str) -> str:
    """Help text with its line breaks taken out."""
    found = re.split(r"\n\s*\n", inspect.cleandoc(text).replace("\b", ""))
    return "\n\n".join(" ".join(part.split()) for part in found)


def options_of(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def option_row(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if not option.is_flag:
        names += f" {kind_of(option)}"
    return names, default_of(option), option.help or ""


def kind_of(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        choices = cast(Sequence[str], option.type.choices)
        return " or ".join(f"`{choice}`" for choice in choices)
    return option.type.name.split()[0].upper()


def default_of(option: click.Option) -> str:
    default: object = option.default
    if option.is_flag or option.multiple or default in (None, "") or callable(default):
        return ""
    if type(default).__name__ == "Sentinel":
        return "required" if option.required else ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def bench_help() -> str:
    os.environ["COLUMNS"] = "100"
    return bench_arguments().format_help().strip()


# The HTTP API


def http_page() -> str:
    document = openapi(NATIVE)
    parts = [f"{NOTE}\n# HTTP API", HTTP_HEAD]
    section = ""
    for path, methods in document["paths"].items():
        head = path.split("/")[3]
        if head != section:
            section = head
            parts.append(f"## {head}")
        parts += [operation(path, method, found) for method, found in methods.items()]
    shapes = document["components"]["schemas"]
    parts.append("## Shapes\n\nFields marked * must be given.")
    parts += [shape(name, shapes[name]) for name in sorted(shapes)]
    return "\n\n".join(parts) + "\n"


HTTP_HEAD = """\
JSON in camelCase; times are unix milliseconds, durations end in their unit. The same description as
an OpenAPI 3.1 document is at `/api/v1/openapi.json`.

- **Who.** `Authorization: Bearer TOKEN`. Each call names the role it needs; see
  [operating](../guides/operating.md#tokens). A server with `--no-auth` asks for none and then
  serves only requests that name this machine as their host.
- **Errors** are `application/problem+json` (RFC 9457): `title`, `status`, `detail`, and for a bad
  definition `problems`, each with `path`, `reason` and `hint`. `error` is a word for the kind of
  error, `message` says what `detail` says, `requestId` repeats the request's `X-Request-ID`.

  | status | meaning | what helps |
  |---|---|---|
  | 400 | the request cannot be read | another request |
  | 401, 403 | no token, or one that may not | another token |
  | 404 | there is no such thing | another id |
  | 409 | the state has changed, or the lease is gone | a fresh read |
  | 413 | the body is too large | a smaller one |
  | 422 | the definition has problems; all are listed | an edit |
  | 500 | our mistake; the server's log has more | a report |
  | 503 | the database or the control plane is away; `Retry-After` says when to ask again | time |

- **Lists** are pages: `limit`, then `cursor` with the `next` of the page before. Pages go by key,
  so they neither skip nor repeat when things are added meanwhile.
- **Once only.** `Idempotency-Key` (or `requestId`) on a start: the same key with the same request
  gives the same run, with another request a 409. Commands to workers and workflows that are kept
  take `Idempotency-Key` as well.
- **Two shapes.** Runs and lists of runs have AstraFlow's shape unless the caller sends `Accept:
  application/vnd.windlass+json` or filters with `q`; see [AstraFlow API](astraflow-api.md).
- **Filters** (`q` of runs): words joined by *and*, commas by *or*, as in
  `status:failed,waiting flow:review-* started:>-2h`. Keys are `status flow version tag error
  node started created finished updated`; `tag:env=prod` finds a tag (`tag:env` any value of it, `*`
  anything); `-status:` negates; a bare word is the beginning of an id or of
  a flow's name; times take `<`, `<=`, `>`, `>=` with a span (`-2h` is two hours ago) or unix
  milliseconds.
- **Streams.** `GET /api/v1/runs/{id}/events` with `Accept: text/event-stream` sends what is there,
  then what comes, until the run has ended; `Last-Event-ID` goes on where a stream broke off. See
  [events](events.md).

`{id}` of a run may be any beginning of its id, of six characters or more, that no other run
shares."""


def operation(path: str, method: str, found: dict[str, Any]) -> str:
    lines = [f"### {method.upper()} {path}", "", found["summary"], ""]
    role = found.get("x-role")
    lines.append(f"- role: {role}" if role else "- role: none needed")
    query = [p["name"] for p in found.get("parameters", ()) if p["in"] == "query"]
    if query:
        lines.append(f"- query: {', '.join(f'`{name}`' for name in query)}")
    if "requestBody" in found:
        body = found["requestBody"]["content"]["application/json"]["schema"]
        lines.append(f"- body: {type_of(body)}")
    for status, answer in found["responses"].items():
        if status != "default":
            lines.append(f"- answer: {status}{answer_of(answer)}")
    return "\n".join(lines)


def answer_of(answer: dict[str, Any]) -> str:
    content = answer.get("content")
    if content is None:
        return ""
    return f", {type_of(content['application/json']['schema'])}"


def shape(name: str, schema: dict[str, Any]) -> str:
    text = inspect.cleandoc(schema.get("description", ""))
    needed = schema.get("required", ())
    rows = [
        (f"`{field}`" + ("*" if field in needed else ""), type_of(inner), default(inner))
        for field, inner in schema.get("properties", {}).items()
    ]
    return (
        f"### {name}\n\n"
        + (f"{text}\n\n" if text else "")
        + table(("field", "type", "if left out"), rows)
    )


def default(schema: dict[str, Any]) -> str:
    return f"`{msgspec.json.encode(schema['default']).decode()}`" if "default" in schema else ""


def type_of(schema: dict[str, Any] | bool) -> str:
    if not isinstance(schema, dict):
        return "anything"
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(type_of(inner) for inner in schema["anyOf"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return "object" if not inner else f"object of {type_of(inner)}"
    return "any JSON" if kind == "any" else str(kind)


def link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


# Settings

MEANINGS = {
    "payload_bytes_max": "Largest answer taken from a push worker.",
    "push_timeout_s": "Longest that one call of a push worker may take.",
    "chars_max": "Length of a definition's text.",
    "body_bytes_max": "Largest body of a request.",
}
"""For bounds whose code says nothing about them."""
SET_BY_FLAG = frozenset({"lease_s"})

PROCESSES = ("windlass dev", "windlass server", "windlass worker start", "windlass db migrate")

SETTINGS_HEAD = """\
Every setting of a process is a flag and an environment variable; the flag wins. Where several
variables are listed, the first one that is set wins. The last of them are the names an older
scheduler of this family used."""

CLIENT = """\
## Commands and clients

`windlass run`, `flow`, `why`, `inbox`, `token`, `info`, `worker ls`, `windlass.Client` and
`windlass.AsyncClient` look for a server and a token in this order:

1. `--server` and `--token`, or the client's arguments
2. `WINDLASS_URL` (then the older `WINDLASS_SERVER`, `SCHEDULER_BASE`) and `WINDLASS_TOKEN`
3. the profile named by `WINDLASS_PROFILE`, or by `profile`, in `~/.config/windlass/config.toml`
   (`XDG_CONFIG_HOME` is heeded)
4. `http://127.0.0.1:7700` and no token

```toml
profile = "local"

[profiles.local]
url = "http://127.0.0.1:7700"

[profiles.ours]
url = "https://windlass.example.org"
token = "wl_…"
```

A worker reads the same variables, but no profile."""

FIXED = """\
## Bounds

These are constants of this release, listed because behaviour depends on them."""


def settings_page() -> str:
    parts = [f"{NOTE}\n# Settings", SETTINGS_HEAD]
    found = {path: command for path, command, _ in commands(cli, "windlass")}
    for path in PROCESSES:
        rows = [setting_row(option) for option in options_of(found[path]) if option.envvar]
        title = path.removesuffix(" start") + (" TARGET" if path.endswith(" start") else "")
        parts.append(f"## {title}\n\n" + table(("flag", "variables", "default", "meaning"), rows))
    parts += [CLIENT, FIXED]
    bounds = [
        ("the engine", Settings),
        ("the kernel", Limits),
        ("a definition", DefinitionLimits),
        ("HTTP", AppOptions),
    ]
    for title, type_ in bounds:
        parts.append(f"### Of {title}\n\n" + table(("name", "value", "meaning"), bound_rows(type_)))
    return "\n\n".join(parts) + "\n"


def setting_row(option: click.Option) -> tuple[str, str, str, str]:
    given = option.envvar
    variables = [given] if isinstance(given, str) else list(given or ())
    names = extra_variables(option.name or "", variables)
    flag = option.opts[0]
    shown = ", ".join(f"`{name}`" for name in names)
    return f"`{flag}`", shown, default_of(option), option.help or ""


def extra_variables(name: str, variables: list[str]) -> list[str]:
    """Older names that the worker's settings understand besides click's."""
    more = {"server": ["REGISTRY_URL", "SCHEDULER_BASE"], "listen": ["WORKER_URL"]}
    return [*variables, *more.get(name, [])]


def bound_rows(type_: type[Any]) -> list[tuple[str, str, str]]:
    """The numbers among a struct's fields, with the docstring that follows each in its source."""
    module = ast.parse(inspect.getsource(type_))
    [body] = [node for node in module.body if isinstance(node, ast.ClassDef)]
    instance = type_()
    rows: list[tuple[str, str, str]] = []
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        value = getattr(instance, node.target.id)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if node.target.id in SET_BY_FLAG:
            continue
        text = MEANINGS.get(node.target.id, "")
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = " ".join(str(after.value.value).split())
        rows.append((f"`{node.target.id}`", f"{value:,}", text))
    return rows


# Reasons

REASONS_HEAD = """\
Why a run, a task or a pod stands where it stands, as `GET /api/v1/runs/{id}/why` and
`GET /api/v1/pods` say it: a code with values. Whoever shows a reason words it; the English line
beside it is for people and for older clients. Values that are empty or as usual are left out. A
later release may have more codes: show its line for those you do not know."""
REASON_NOW = 1_800_000_000_000
REASON_SAMPLE = ReasonValues(
    node="fetch",
    role="work",
    state="draining",
    worker="w-1",
    workers=3,
    attempt=2,
    since=REASON_NOW - 166_000,
    until=REASON_NOW + 12_000,
    transport="pull",
    service="transform",
    package="web@1.2.0",
    install_at=REASON_NOW - 4_000,
    key="bank:42",
    ahead=2,
    used="1",
    most="4",
    reserved="2",
    unit="tokens",
    tenant="acme",
    failures=3,
    env="box",
    kind="container",
    pod="jobs/fetch-1",
    place="n-1",
    cause="ContainerCreating",
    heard_at=REASON_NOW - 3_000,
    message="its words",
)


def reasons_page() -> str:
    codes = [(f"`{code}`", example_of(code)) for code in ReasonCode]
    values = [
        (
            f"`{field.encode_name}`",
            type_name(field.type),
            meanings(ReasonValues).get(field.name, ""),
        )
        for field in msgspec.structs.fields(ReasonValues)
    ]
    parts = [f"{NOTE}\n# Reasons", REASONS_HEAD]
    parts.append("## Codes\n\n" + table(("code", "said in English, for instance"), codes))
    parts.append("## Values\n\n" + table(("value", "type", "meaning"), values))
    return "\n\n".join(parts) + "\n"


def example_of(code: ReasonCode) -> str:
    sample = REASON_SAMPLE
    if code.startswith("run."):
        sample = msgspec.structs.replace(sample, state="running", node="")
    return say(Reason(code, sample), REASON_NOW)


def type_name(type_: Any) -> str:
    names = {str: "text", int: "number", float: "number", bool: "true or false"}
    return names[type_]


def meanings(type_: type[Any]) -> dict[str, str]:
    """The docstring behind each field of a struct, in its source."""
    [body] = [n for n in ast.parse(inspect.getsource(type_)).body if isinstance(n, ast.ClassDef)]
    found: dict[str, str] = {}
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[node.target.id] = " ".join(str(after.value.value).split())
    return found


# Pages


PIPE = "\\|"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(cell.replace('|', PIPE) for cell in row)} |" for row in rows]
    return "\n".join(re.sub(r" +\|", " |", line) for line in lines)


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "http-api.md": http_page,
    "reasons.md": reasons_page,
    "settings.md": settings_page,
}


def main(args: list[str]) -> int:
    differ = 0
    for name, write in PAGES.items():
        file, fresh = FOLDER / name, write()
        if "--check" not in args:
            file.write_text(fresh, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != fresh:
            print(f"docs/reference/{name}: differs from the code; run tools/reference.py")
            differ += 1
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
