"""What runs inside an adapter host, under a package's own interpreter.

    worker process                                     host process
    Hosts ── HostProcess ══ link: calls, outcomes ══▶ Calls ── handler(ctx)
    Resources ◀═════════════ ask: one question at a time ══ ctx.resource_registry

A package's environment does not have windlass in it, so everything in this folder uses the standard
library alone, and `start.py` makes it importable. `link` carries frames both ways without waiting;
`ask` is for questions a plain function may put and wait for, whichever thread it is in.
"""
