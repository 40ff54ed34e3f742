"""Proposals are written into objects that are as they were read, in one patch or in two."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from poseidon.app_network.object_writer import ObjectWriter, path_of
from poseidon.app_network.proposals import Proposal
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from tests.poseidon.app_network.definitions import definitions
from tests.support.cluster import running_cluster

KEY = ObjectKey("AppGroup", "default", "shop")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/default/appgroups"


@pytest.mark.parametrize(
    ("key", "path"),
    [
        (KEY, f"{GROUPS}/shop"),
        (
            ObjectKey("NetworkTopology", "web", "net"),
            "/apis/networktopology.diktyo.x-k8s.io/v1alpha1/namespaces/web/networktopologies/net",
        ),
    ],
)
def test_objects_have_paths(key, path):
    assert path_of(key) == path


class Scene:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.writer = ObjectWriter(transport)

    async def post(self, path: str, body: Any) -> Any:
        return msgspec.json.decode(await self._transport.post(path, msgspec.json.encode(body)))

    async def read(self) -> Any:
        return msgspec.json.decode(await self._transport.get(f"{GROUPS}/shop"))


@asynccontextmanager
async def scene(*, status: bool):
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        made = Scene(transport)
        for each in definitions():
            if status:
                each["spec"]["versions"][0]["subresources"] = {"status": {}}
            await made.post(CRDS, each)
        yield made


GROUP = {
    "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
    "kind": "AppGroup",
    "metadata": {"name": "shop"},
    "spec": {"numMembers": 1},
}


def proposal(metadata: Any, **parts: Any) -> Proposal:
    return Proposal(KEY, metadata["uid"], metadata["resourceVersion"], **parts)


@pytest.mark.parametrize("status", [False, True])
async def test_all_parts_are_written_with_and_without_a_status_subresource(status):
    async with scene(status=status) as s:
        metadata = (await s.post(GROUPS, GROUP))["metadata"]
        outcome = await s.writer.write(
            proposal(metadata, spec={"numMembers": 2}, status={"runningWorkloads": 1}, annotations={"a": "1"})
        )
        assert not outcome.conflict
        assert outcome.found is not None
        found = await s.read()
        assert found["spec"] == {"numMembers": 2}
        assert found["status"] == {"runningWorkloads": 1}
        assert found["metadata"]["annotations"] == {"a": "1"}
        assert outcome.found.metadata.resource_version == found["metadata"]["resourceVersion"]


async def test_parts_that_are_not_to_change_stay():
    async with scene(status=False) as s:
        metadata = (await s.post(GROUPS, {**GROUP, "status": {"theirs": 1}}))["metadata"]
        await s.writer.write(proposal(metadata, annotations={"a": "1"}))
        found = await s.read()
        assert (found["spec"], found["status"]) == ({"numMembers": 1}, {"theirs": 1})
        await s.writer.write(proposal(found["metadata"], annotations={"a": None}))
        assert not (await s.read())["metadata"].get("annotations")


async def test_an_object_that_has_changed_is_read_again_and_not_written():
    async with scene(status=False) as s:
        old = (await s.post(GROUPS, GROUP))["metadata"]
        await s.writer.write(proposal(old, annotations={"a": "1"}))
        outcome = await s.writer.write(proposal(old, annotations={"a": "2"}))
        assert outcome.conflict
        assert outcome.found is not None
        assert outcome.found.metadata.annotations == {"a": "1"}
        assert (await s.read())["metadata"]["annotations"] == {"a": "1"}


async def test_an_object_that_is_gone_is_none():
    async with scene(status=False) as s:
        outcome = await s.writer.write(Proposal(KEY, "u", "1", annotations={"a": "1"}))
        assert (outcome.found, outcome.conflict) == (None, False)


async def test_other_errors_are_raised():
    async with scene(status=False) as s:
        metadata = (await s.post(GROUPS, GROUP))["metadata"]
        wrong: Any = {"a": 5}
        with pytest.raises(ApiError):
            await s.writer.write(proposal(metadata, annotations=wrong))


async def test_a_status_of_which_only_a_part_was_written_is_written_again():
    """With a status subresource, the first patch leaves the status as it was, even where a part is as it should be."""
    async with scene(status=True) as s:
        metadata = (await s.post(GROUPS, GROUP))["metadata"]
        await s.writer.write(proposal(metadata, status={"runningWorkloads": 1, "topologyOrder": []}))
        metadata = (await s.read())["metadata"]
        await s.writer.write(proposal(metadata, status={"runningWorkloads": 2, "topologyOrder": []}))
        assert (await s.read())["status"] == {"runningWorkloads": 2, "topologyOrder": []}


@pytest.mark.parametrize(("gone", "raises"), [(True, False), (False, True)])
async def test_an_object_that_changed_and_cannot_be_read_again(monkeypatch, gone, raises):
    async with scene(status=False) as s:
        old = (await s.post(GROUPS, GROUP))["metadata"]
        await s.writer.write(proposal(old, annotations={"a": "1"}))

        async def fail(path: str) -> bytes:
            raise ApiError(404 if gone else 403, "NotFound" if gone else "Forbidden", path)

        monkeypatch.setattr(s._transport, "get", fail)
        if raises:
            with pytest.raises(ApiError):
                await s.writer.write(proposal(old, annotations={"a": "2"}))
        else:
            outcome = await s.writer.write(proposal(old, annotations={"a": "2"}))
            assert (outcome.found, outcome.conflict) == (None, True)
