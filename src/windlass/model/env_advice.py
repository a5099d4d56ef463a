"""How to come by a runtime for environments that nobody can make yet."""

HOW_TO_GET = {
    "container": "install podman or Docker and start the server with --env-docker, or run"
    " `windlass env-host --kinds container` where there is one",
    "browser": "install Chromium and start the server with --env-browser, or run"
    " `windlass env-host --kinds browser` where there is one",
    "noop": "start the server with --env-noop; such places are only pretended",
}
NO_DRIVER = "this release has no driver for it; there are container and browser"


def nothing_makes(kind: str) -> str:
    """That there can be no places of a kind, and what to do about it."""
    return f"nothing here can make a {kind}: {advice(kind)}"


def advice(kind: str) -> str:
    """How to come by a runtime for places of a kind."""
    return HOW_TO_GET.get(kind, NO_DRIVER)
