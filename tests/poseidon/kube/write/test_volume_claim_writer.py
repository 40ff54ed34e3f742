"""Writes that begin the binding of claims, over HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest

from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.volume_claim_writer import ClaimWriter, GiveVolume, SelectNode
from poseidon.kube.write.write_retries import RetryOptions
from tests.poseidon.kube.scripted_api import json, scripted, status
from tests.support.waiting import until

SELECT = SelectNode("pod-1", "shop", "data", "uid-1", "n1")
GIVE = GiveVolume("pod-1", "shop", "data", "uid-1", "disk", "uid-2", "77")


@asynccontextmanager
async def writing(url):
    refused: list[tuple[object, str]] = []
    slept: list[float] = []

    async def sleep(seconds):
        slept.append(seconds)
        await asyncio.sleep(0)

    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        writer = ClaimWriter(
            Environment(transport, random=Random(1), sleep=sleep),
            lambda write, reason: refused.append((write, reason)),
            RetryOptions(attempts=3),
        )
        running = asyncio.create_task(writer.run())
        try:
            yield writer, refused, slept
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_patches_name_the_objects_by_uid():
    async def accept(_):
        return json({})

    async with scripted(accept) as (api, url), writing(url) as (writer, refused, _):
        writer.submit(SELECT)
        writer.submit(GIVE)
        await until(lambda: len(api.requests) == 2 and not api.in_flight)
    found = {
        path: (method, headers["Content-Type"], msgspec.json.decode(body))
        for method, path, headers, body in api.requests
    }
    patch = "application/merge-patch+json"
    annotations = {"volume.kubernetes.io/selected-node": "n1"}
    assert found["/api/v1/namespaces/shop/persistentvolumeclaims/data"] == (
        "PATCH",
        patch,
        {"metadata": {"uid": "uid-1", "annotations": annotations}},
    )
    method, kind, body = found["/api/v1/persistentvolumes/disk"]
    assert (method, kind) == ("PATCH", patch)
    assert body["metadata"] == {
        "uid": "uid-2",
        "resourceVersion": "77",
        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
    }
    given = body["spec"]["claimRef"]
    assert (given["namespace"], given["name"], given["uid"]) == ("shop", "data", "uid-1")
    assert not refused


@pytest.mark.parametrize(
    ("write", "answer", "reason"),
    [
        (SELECT, (404, "NotFound", "gone"), 'persistentvolumeclaim "data" not found'),
        (GIVE, (409, "Conflict", "modified"), 'persistentvolume "disk" has changed meanwhile'),
        (
            GIVE,
            (403, "Forbidden", "no rights"),
            'persistentvolume "disk" cannot be written: 403 Forbidden: no rights',
        ),
    ],
)
async def test_refusals_are_final_and_told_in_words(write, answer, reason):
    async def refuse(_):
        return status(*answer)

    async with scripted(refuse) as (api, url), writing(url) as (writer, refused, _):
        writer.submit(write)
        await until(lambda: refused)
    assert refused == [(write, reason)]
    assert len(api.requests) == 1


async def test_a_busy_server_is_asked_again_and_given_up_in_the_end():
    async def busy(_):
        return status(429, "TooManyRequests", "later", retryAfterSeconds=2)

    async with scripted(busy) as (api, url), writing(url) as (writer, refused, slept):
        writer.submit(SELECT)
        await until(lambda: refused)
    assert len(api.requests) == 3
    assert len(slept) == 2
    assert min(slept) >= 2.0


async def test_a_server_that_recovers_is_enough():
    answers = [status(500, "InternalError", "oops"), json({})]

    async def recover(_):
        return answers.pop(0)

    async with scripted(recover) as (_, url), writing(url) as (writer, refused, _):
        writer.submit(SELECT)
        await until(lambda: not answers)
        assert not refused
