"""Images of a container runtime: found, pulled and pinned by their digest."""

from typing import Any, cast

from windlass.drivers.env.docker import DockerApi, Refused, path_of
from windlass.ports.env import PlaceError

_PULL_SILENCE_S = 600.0
"""How long a registry may say nothing before a pull is given up."""


class ImageStore:
    def __init__(self, api: DockerApi) -> None:
        self._api = api

    async def find(self, ref: str) -> dict[str, Any] | None:
        """What the runtime has under a reference."""
        try:
            return cast(dict[str, Any], await self._api.get(f"/images/{ref}/json"))
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    async def have(self, ref: str, policy: str) -> dict[str, Any]:
        """The image, pulled if the policy says so."""
        found = None if policy == "always" else await self.find(ref)
        if found is None and policy == "never":
            raise PlaceError(f'image "{ref}" is not there, and "pull" is "never"')
        if found is None:
            await self.pull(ref)
            found = await self.find(ref)
        if found is None:
            raise PlaceError(f'image "{ref}" was pulled, but the runtime does not have it')
        return found

    async def pull(self, ref: str) -> None:
        """Fetch an image; what the registry says against it is passed on in its own words."""
        name, tag = split(ref)
        messages = self._api.progress(
            "/images/create", params={"fromImage": name, "tag": tag}, timeout_s=_PULL_SILENCE_S
        )
        async for message in messages:
            if said := error_in(message):
                raise PlaceError(f'image "{ref}" cannot be pulled: {said}')

    async def of_label(self, label: str) -> list[str]:
        """Ids of all images that carry a label."""
        return [str(image["Id"]) for image in await self._listed(label)]

    async def labels_of(self, label: str) -> list[dict[str, str]]:
        """All labels of the images that carry one."""
        return [dict(image.get("Labels") or {}) for image in await self._listed(label)]

    async def remove(self, image_id: str, *, force: bool = True) -> bool:
        """Whether it is gone; one that another stands on stays. By force, podman also removes the
        containers that stand on it."""
        params = {"force": str(force).lower()}
        try:
            await self._api.call("DELETE", path_of("images", image_id), params=params)
        except Refused as refused:
            return refused.status == 404
        return True

    async def _listed(self, label: str) -> list[dict[str, Any]]:
        filters = f'{{"label":["{label}"]}}'
        return cast(list[dict[str, Any]], await self._api.get("/images/json", filters=filters))


def split(ref: str) -> tuple[str, str]:
    """A reference's name, and its tag or digest."""
    if "@" in ref:
        name, _, digest = ref.partition("@")
        return name, digest
    name, colon, tag = ref.rpartition(":")
    if not colon or "/" in tag:
        return ref, "latest"
    return name, tag


def digest_of(image: dict[str, Any]) -> str:
    """What pins an image: the registry's digest of it, or the runtime's own id."""
    for pinned in image.get("RepoDigests") or ():
        return str(pinned).rpartition("@")[2]
    found = str(image["Id"])
    return found if found.startswith("sha256:") else f"sha256:{found}"


def image_labels(image: dict[str, Any]) -> dict[str, str]:
    config = cast(dict[str, Any], image.get("Config") or {})
    return cast(dict[str, str], config.get("Labels") or {})


def error_in(message: dict[str, Any]) -> str:
    """What the runtime says went wrong."""
    detail = cast(dict[str, Any], message.get("errorDetail") or {})
    return str(message.get("error") or detail.get("message") or "").strip()
