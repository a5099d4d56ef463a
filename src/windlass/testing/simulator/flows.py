"""Random definitions that cover every node kind, failure rule and way on."""

import random
from typing import Any

PULL = ("s0", "s1", "s2")
LOCAL = ("f0", "f1")
SIGNALS = ("sig0", "sig1")
LOOPS = ("again", "back")
"""Actions that lead back; in calm times no handler gives them."""

Body = dict[str, Any]


def make_flow(rng: random.Random) -> Body:
    """A whole definition."""
    flow = Maker(rng).body(depth=0)
    if rng.random() < 0.5:
        flow["on_failure"] = rng.choice(("continue", "fail"))
    return flow


def make_params(rng: random.Random) -> Body:
    items = [rng.randrange(100) for _ in range(rng.choice((0, 1, 2, 3, 5)))]
    return {"items": items, "p": rng.randrange(3), "text": "not a list", "ms": rng.randrange(800)}


class Maker:
    """Builds the nodes and edges of one definition."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.made = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def body(self, depth: int) -> Body:
        """A chain of nodes with side ways, so that every node is reached from the first."""
        most = (6, 3, 2)[depth]
        names = [f"{'abc'[depth]}{i}" for i in range(self.rng.randint(1, most))]
        nodes = {name: self.node(depth, index) for index, name in enumerate(names)}
        edges: list[Body] = []
        for index, name in enumerate(names):
            edges += self.edges(nodes[name], names, index)
        return {"start": names[0], "nodes": nodes, "edges": edges}

    def node(self, depth: int, index: int) -> Body:
        kinds = ["executor"] * 5 + ["choice", "parallel", "parallel", "foreach", "foreach"]
        kinds += ["timer", "wait_event", "approval"]
        if depth < 2:
            kinds += ["subflow", "subflow"]
        kind = self.rng.choice(kinds)
        self.made += 1
        node: Body = {"kind": kind}
        getattr(self, f"fill_{kind}")(node, depth)
        return node

    def edges(self, node: Body, names: list[str], index: int) -> list[Body]:
        """Ways on from one node: the next one, back, ahead, and what catches failures."""
        name = names[index]
        later = names[index + 1 :]
        found: list[Body] = []
        if later:
            found.append({"from": name, "action": "default", "to": later[0]})
        for action in self.actions(node):
            if action in LOOPS:
                target = self.rng.choice(names[: index + 1])
            else:
                target = self.rng.choice([*later, ""])
            if self.chance(0.6):
                found.append({"from": name, "action": action, "to": target})
        for action in ("error", "timeout"):
            if self.chance(0.25):
                found.append({"from": name, "action": action, "to": self.rng.choice([*later, ""])})
        return found

    def actions(self, node: Body) -> list[str]:
        match node["kind"]:
            case "choice":
                return sorted({case["action"] for case in node.get("choice_cases", ())})
            case "executor" | "subflow":
                return ["again", "alt"]
            case "approval":
                return ["approved", "rejected"]
            case "wait_event":
                return ["back"]
            case _:
                return []

    # One method a kind

    def call(self, node: Body) -> None:
        if self.chance(0.3):
            node.update(exec_type="local_func", func=self.rng.choice(LOCAL))
        else:
            node.update(exec_type="queue", service=self.rng.choice(PULL))

    def retries(self, node: Body) -> None:
        if self.chance(0.6):
            node["max_retries"] = self.rng.randint(0, 2)
            node["wait_ms"] = self.rng.choice((0, 50, 400))
            node["backoff"] = self.rng.choice((1, 2))
            node["jitter"] = self.rng.choice((0, 0.5))
        if self.chance(0.2):
            node["max_attempts"] = self.rng.randint(1, 3)
            node["attempt_delay_ms"] = self.rng.choice((0, 100))
        if self.chance(0.3):
            node["timeout_ms"] = self.rng.choice((300, 1500))

    def fill_executor(self, node: Body, depth: int) -> None:
        self.call(node)
        self.retries(node)
        post: Body = {"output_key": f"out{self.rng.randrange(3)}"}
        if self.chance(0.3):
            post = {"output_map": {"k": "v"}}
        post["action_key"] = "action"
        if self.chance(0.1):
            post["action_static"] = "default"
        node["post"] = post
        if self.chance(0.5):
            node["prep"] = {"input_key": self.rng.choice(("out0", "$params.items", "$params.p"))}

    def fill_choice(self, node: Body, depth: int) -> None:
        node["choice_cases"] = [
            {"action": action, "expr": self.condition()}
            for action in self.rng.sample(("a", "b"), self.rng.randint(1, 2))
        ]

    def condition(self) -> Body:
        return self.rng.choice(
            (
                {"eq": ["$params.p", 1]},
                {"gt": ["$params.p", 0]},
                {"exists": "$shared.out0"},
                {"not": {"exists": "$shared.sig0"}},
                {"contains": ["$params.items", 5]},
            )
        )

    def fan_out(self, node: Body) -> None:
        self.call(node)
        self.retries(node)
        if self.chance(0.6):
            node["parallel_mode"] = self.rng.choice(("sequential", "concurrent"))
        if self.chance(0.4):
            node["max_parallel"] = self.rng.randint(1, 3)
        if self.chance(0.8):
            node["failure_strategy"] = self.rng.choice(
                ("fail_fast", "collect_errors", "ignore_errors", "continue", "retry")
            )
        node["post"] = {"output_key": f"out{self.rng.randrange(3)}"}

    def fill_parallel(self, node: Body, depth: int) -> None:
        self.fan_out(node)
        node["parallel_execs"] = [self.branch() for _ in range(self.rng.randint(1, 4))]

    def branch(self) -> Body:
        branch: Body = {}
        if self.chance(0.5):
            self.call(branch)
        if self.chance(0.3):
            self.retries(branch)
        return branch

    def fill_foreach(self, node: Body, depth: int) -> None:
        self.fan_out(node)
        source = ("$params.items", "$params.items", "$params.items", "out0", "$params.text")
        node["prep"] = {"input_key": self.rng.choice(source)}
        if self.chance(0.3):
            node["foreach_execs"] = [{"index": 1, **self.branch()}]

    def fill_subflow(self, node: Body, depth: int) -> None:
        node["subflow"] = self.body(depth + 1)
        if self.chance(0.6):
            node["failure_strategy"] = self.rng.choice(("fail_fast", "continue", "retry"))
            node["max_retries"] = self.rng.randint(0, 2)
        if self.chance(0.3):
            node["timeout_ms"] = self.rng.choice((500, 4000))
        node["post"] = {"output_key": f"out{self.rng.randrange(3)}", "action_key": "act"}

    def fill_timer(self, node: Body, depth: int) -> None:
        node["params"] = {"delay_ms": self.rng.choice((0, 200, 2000, "$params.ms"))}

    def fill_wait_event(self, node: Body, depth: int) -> None:
        params: Body = {"signal_key": f"$shared.{self.rng.choice(SIGNALS)}"}
        node["params"] = params
        if self.chance(0.6):
            params["timeout_ms"] = self.rng.choice((300, 3000, "$params.ms"))
        if self.chance(0.5):
            node["failure_strategy"] = self.rng.choice(("continue", "retry", "fail_fast"))
            node["max_retries"] = self.rng.randint(0, 2)
        if self.chance(0.5):
            node["post"] = {"action_key": "signal"}

    def fill_approval(self, node: Body, depth: int) -> None:
        node["params"] = {}
        if self.chance(0.5):
            node["params"]["approval_key"] = self.rng.choice(("ok", "sig0"))
        if self.chance(0.3):
            node["params"]["timeout_ms"] = self.rng.choice((500, 4000))
