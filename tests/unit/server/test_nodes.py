"""The catalogue of nodes: drawn from the versions that have them."""

import msgspec

from windlass.model.rows import PackageVersion
from windlass.server.api.packages import nodes_in


def version(number: str, label: str) -> PackageVersion:
    manifest = {"nodes": [{"type": "kit.a", "label": label}]}
    return PackageVersion(
        id=f"kit@{number}",
        name="kit",
        version=number,
        sha256="",
        size_bytes=0,
        manifest=msgspec.json.encode(manifest).decode(),
        created_at=0,
    )


def test_the_newest_version_is_the_highest_number_and_not_the_last_word() -> None:
    rows = [version("1.10.0", "new"), version("1.9.0", "old")]  # as the database sorts them
    [node] = nodes_in(rows)
    assert (node["latestVersion"], node["label"]) == ("1.10.0", "new")
    assert [found["version"] for found in node["versions"]] == ["1.9.0", "1.10.0"]
