"""A list of packages reads what it shows, and no manifest."""

from pathlib import Path

import pytest

from tests.packages import archive
from tests.unit.server.audit import api
from windlass.engine import packages

pytestmark = pytest.mark.anyio


async def test_a_list_of_packages_reads_no_manifests(tmp_path: Path) -> None:
    async with api(tmp_path) as said:
        files = {"file": ("p.cwx", archive(name="kit"))}
        made = await said.http.post("/api/v1/published-packages", files=files)
        assert made.status_code == 201, made.text
        engine = said.local.engine
        [listed] = (await packages.versions_by_name(engine, ["kit"]))["kit"]
        [whole] = await packages.versions_of(engine, "kit")
        assert (listed.version, listed.manifest) == (whole.version, "{}")
        assert len(whole.manifest) > 2
        [shown] = (await said.http.get("/api/v1/published-packages")).json()["items"]
        assert shown["versions"] == [whole.version]
        one = (await said.http.get("/api/v1/published-packages/kit")).json()
        assert one["manifest"]["name"] == "kit"
