"""Writes that resume and suspend objects, over HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import msgspec

from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.suspension_writer import SuspensionEnd, SuspensionWrite, SuspensionWriter
from poseidon.kube.write.write_retries import RetryOptions
from tests.poseidon.kube.scripted_api import json, scripted, status
from tests.support.waiting import until

JOB = ObjectRef("batch/v1", "Job", "uid-1", "shop", "train")
RESUME = SuspensionWrite(JOB, "/apis/batch/v1/jobs", ("spec", "suspend"), 3, suspended=False)
TRAINING = ObjectRef("kubeflow.org/v1", "PyTorchJob", "uid-2", "shop", "net")
SUSPEND = SuspensionWrite(
    TRAINING, "/apis/kubeflow.org/v1/pytorchjobs", ("spec", "runPolicy", "suspend"), 0, suspended=True
)


@asynccontextmanager
async def writing(url):
    ends: list[SuspensionEnd] = []

    async def sleep(_):
        await asyncio.sleep(0)

    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        environment = Environment(transport, random=Random(1), sleep=sleep)
        writer = SuspensionWriter(environment, ends.append, RetryOptions(attempts=3))
        running = asyncio.create_task(writer.run())
        try:
            yield writer, ends
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_patch_changes_one_field_of_what_was_looked_at():
    async def accept(_):
        return json({})

    async with scripted(accept) as (api, url), writing(url) as (writer, ends):
        writer.submit(RESUME)
        writer.submit(SUSPEND)
        await until(lambda: len(ends) == 2)
    found = {
        path: (method, headers["Content-Type"], msgspec.json.decode(body))
        for method, path, headers, body in api.requests
    }
    patch = "application/json-patch+json"
    assert found["/apis/batch/v1/namespaces/shop/jobs/train"] == (
        "PATCH",
        patch,
        [
            {"op": "test", "path": "/metadata/uid", "value": "uid-1"},
            {"op": "test", "path": "/metadata/generation", "value": 3},
            {"op": "test", "path": "/spec/suspend", "value": True},
            {"op": "add", "path": "/spec/suspend", "value": False},
        ],
    )
    assert found["/apis/kubeflow.org/v1/namespaces/shop/pytorchjobs/net"][2] == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-2"},
        {"op": "add", "path": "/spec/runPolicy/suspend", "value": True},
    ]
    assert {end.write.uid: (end.refusal, end.overtaken) for end in ends} == {
        "uid-1": ("", False),
        "uid-2": ("", False),
    }


async def test_an_object_that_has_changed_is_not_written():
    async def refuse(_):
        return status(422, "Invalid", "testing /metadata/generation value failed")

    async with scripted(refuse) as (api, url), writing(url) as (writer, ends):
        writer.submit(RESUME)
        await until(lambda: bool(ends))
    assert ends == [SuspensionEnd(RESUME, "Job shop/train: has changed meanwhile", overtaken=True)]
    assert len(api.requests) == 1


async def test_a_busy_server_is_asked_again_and_a_missing_right_is_told():
    answers = [status(503, "ServiceUnavailable", "wait"), status(409, "Conflict", "modified"), json({})]

    async def answer(_):
        return answers.pop(0) if answers else status(403, "Forbidden", "may not patch jobs")

    async with scripted(answer) as (_, url), writing(url) as (writer, ends):
        writer.submit(RESUME)
        await until(lambda: len(ends) == 1)
        writer.submit(RESUME)
        await until(lambda: len(ends) == 2)
    assert ends[0].refusal == ""
    assert "may not patch jobs" in ends[1].refusal
    assert not ends[1].overtaken
