"""The files `windlass init` writes."""

FLOW = """\
# Greet everybody at once, ask a person, then send. Publish it with `windlass flow push greet.yaml`.
start: greet
on_failure: fail                  # a step that failed for good fails the run
nodes:
  greet:
    kind: foreach
    exec_type: queue              # workers ask for this work
    service: greet
    parallel_mode: concurrent
    max_retries: 2
    prep: {input_key: $params.names}
    post: {output_key: greetings}
  review:
    kind: approval
    params: {prompt: "Send these greetings?"}
  send:
    exec_type: queue
    service: send
    prep: {input_key: $shared.greetings}
    post: {output_key: sent}
edges:
  - {from: greet, to: review}
  - {from: review, action: approved, to: send}
"""

WORKER = '''\
"""The services of this project: run them with `windlass worker worker`."""

from windlass import Context, PermanentError, Worker

worker = Worker()


@worker.service("greet")
async def greet(ctx: Context, name: str) -> str:
    if not name:
        raise PermanentError("nobody to greet")  # no retry would help
    ctx.log(f"greeting {name}, attempt {ctx.number}")
    return f"Hello, {name}!"


@worker.service("send")
def send(greetings: list[str]) -> int:
    """Pretend to send them. A plain function runs in a thread, and may block."""
    return len(greetings)
'''

README = """\
# A beginning

`greet.yaml` is a flow, `worker.py` holds the services it calls. In three terminals, here:

```sh
windlass dev                    # a server with its database in .windlass/
windlass worker worker          # the services; `worker` is worker.py
```

```sh
windlass flow push greet.yaml
windlass run start greet -p names:='["Ada", "Grace"]' --watch
```

The run greets everybody, then waits for you. In a fourth terminal:

```sh
windlass inbox ls
windlass inbox approve @last -m "they look fine"
```

Then look at it: `windlass run show @last`, `run tasks @last`, `run logs @last`, and `windlass why
@last` whenever something stands still. Stop any of the processes at any moment and start it again:
the run goes on.
"""

FILES = {"greet.yaml": FLOW, "worker.py": WORKER, "README.md": README}
