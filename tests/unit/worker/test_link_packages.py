"""Commands about packages on a link worker, and what it tells of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from windlass.protocol.link import messages as m
from windlass.worker.link.packages import Packages
from windlass.worker.link.settings import LinkSettings

pytestmark = pytest.mark.anyio


@pytest.fixture
async def packages(tmp_path: Path) -> AsyncIterator[Packages]:
    settings = LinkSettings(
        url="wss://server:1/ws/worker",
        worker_id="w",
        packages_dir=tmp_path / "packages",
        data_dir=tmp_path / "data",
    )
    made = Packages(settings)
    yield made
    await made.close()


async def test_a_package_without_an_address_comes_from_our_server(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    async def install(*given: str) -> None:
        asked.append(given)

    monkeypatch.setattr(packages.manager, "install", install)
    event = await packages.install(m.PkgInstall(name="kit", version="1.0.0+b"))
    assert event.status == "installed"
    at = "https://server:1/api/v1/published-packages/kit/archive?version=1.0.0%2Bb"
    assert asked == [("kit", "1.0.0+b", at, "")]


async def test_every_version_that_is_removed_or_not_is_told_of(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def uninstall(name: str, version: str) -> list[str]:
        if version == "2.0.0":
            raise OSError("the disk is full")
        return [version]

    monkeypatch.setattr(packages.manager, "versions", lambda _: ["1.0.0", "2.0.0", "3.0.0"])
    monkeypatch.setattr(packages.manager, "uninstall", uninstall)
    events = await packages.uninstall(m.PkgUninstall(name="kit"))
    told = [(event.version, event.status) for event in events]
    assert told == [("1.0.0", "installed"), ("2.0.0", "failed"), ("3.0.0", "installed")]


async def test_removing_what_is_not_there_is_told_once(packages: Packages) -> None:
    (event,) = await packages.uninstall(m.PkgUninstall(name="kit"))
    assert (event.version, event.status) == ("*", "failed")
