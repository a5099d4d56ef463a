"""Greet everybody at once, ask a person, then send: `windlass flow push flow:flow`."""

# ruff: noqa: INP001

from services import greet, send

from windlass import Flow

with Flow("hello-review", description="Greet, ask, send") as flow:
    greetings = flow.foreach(
        "greet",
        greet,
        over="$params.names",
        transport="queue",
        max_parallel=8,
        retries=2,
        output="greetings",
    )
    review = flow.approval("review", prompt="Send these greetings?")
    deliver = flow.step("send", send, transport="queue", input="$shared.greetings", output="result")

    _ = greetings >> review
    _ = review.on("approved") >> deliver
    _ = review.on("rejected") >> flow.end("kept to ourselves")
