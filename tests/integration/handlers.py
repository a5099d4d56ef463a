"""A package with a handler for everything a host should bear."""

import re
from typing import Any

from tests.packages import archive

CODE = """
import asyncio, json, logging, os, sys, threading, time
from pathlib import Path

async def run(ctx):
    return {"got": ctx.params}

async def who(ctx):
    return {"pid": os.getpid(), "path": sys.path, "env": dict(os.environ), "cwd": os.getcwd()}

async def about(ctx):
    names = ("run_id task_id node_id package_name package_version tenant metadata trace config "
             "resource_refs host_node_id middleware_chain chain_index").split()
    found = {name: getattr(ctx, name) for name in names}
    return {"outputs": {**found, "data_dir": ctx.data_dir, "made": ctx.data_dir.is_dir()}}

async def sleep(ctx):
    await asyncio.sleep(ctx.params.get("seconds", 60))
    return {}

async def stubborn(ctx):
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

def polite(ctx):
    Path(ctx.params["mark"]).touch()
    while not ctx.cancelled:
        time.sleep(0.01)
    ctx.check()

def stuck(ctx):
    Path(ctx.params["mark"]).touch()
    time.sleep(60)

async def crash(ctx):
    os.kill(os.getpid(), 9)

async def say(ctx):
    print("printed", ctx.params["word"])
    print("complained", ctx.params["word"], file=sys.stderr)
    logging.getLogger("mine").info("logged %s", ctx.params["word"])
    await asyncio.sleep(0.05)
    print("later", ctx.params["word"])
    return {}

def threaded(ctx):
    print("from", threading.current_thread() is threading.main_thread())
    ctx.feedback.emit_text("now", progress=0.5)
    ctx.feedback.send_nowait(message="more", metrics={"a": 1})
    return {"chain": ctx.next_blocking({"n": 1}) if ctx.chain_index is not None else None}

async def chain(ctx):
    try:
        first = await ctx.next({"n": 1}, middleware_ctx={"i": 1})
    except Exception as error:
        return {"error": str(error), "kind": type(error).__name__}
    return {"first": first, "second": await ctx.next()}

async def keep(ctx):
    registry = ctx.resource_registry
    handle = registry.put_object({"n": 1}, resource_type="thing", ttl_s=50, close=closed)
    path = ctx.data_dir / "a.txt"
    path.write_text("hello")
    file = registry.register_file(file_path=path, metadata={"kind": "note"})
    return {"outputs": {"object": handle.ref, "file": file.ref},
            "artifacts": [registry.to_artifact_descriptor(file.resource_id)]}

def closed(thing):
    print("closing", thing, file=sys.__stderr__, flush=True)
    Path(os.environ["MARKS"], "closed").touch()

async def use(ctx):
    registry = ctx.resource_registry
    thing = registry.get_object(ctx.params["object"]["resourceRef"]["resourceId"])
    thing["n"] += 1
    leased = {key: handle.type for key, handle in ctx.leased_resources.items()}
    return {"n": thing["n"], "leased": leased, "in_use": [h.in_use for h in registry.list()]}

async def large(ctx):
    return {"text": "x" * ctx.params["size"]}

def deep(levels):
    sys.setrecursionlimit(10_000)
    found = {}
    for _ in range(levels):
        found = {"a": found}
    return found

async def odd(ctx):
    return eval(ctx.params["value"])
"""
NAMES = tuple(re.findall(r"^(?:async )?def (\w+)\(ctx\)", CODE, re.MULTILINE))


def tools(**changes: Any) -> bytes:
    return archive(CODE, nodes=NAMES, **changes)
