"""Leases: whoever writes first holds it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.poseidon.testbed.conftest import JsonClient

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
TIME = "2026-01-01T12:00:00.000000Z"


def lease(holder: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "poseidon"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": TIME, **spec},
    }


async def test_one_of_many_takes_it_over(api: JsonClient) -> None:
    status, held = await api.call("POST", LEASES, lease("a"))
    assert status == 201
    assert (await api.call("POST", LEASES, lease("b")))[0] == 409

    async def take(holder: str) -> int:
        body = lease(holder, leaseTransitions=1)
        body["metadata"]["resourceVersion"] = held["metadata"]["resourceVersion"]
        return (await api.call("PUT", f"{LEASES}/poseidon", body))[0]

    answers = await asyncio.gather(*(take(f"candidate-{index}") for index in range(8)))
    assert sorted(answers) == [200] + [409] * 7
    _, now = await api.call("GET", f"{LEASES}/poseidon")
    assert now["spec"]["holderIdentity"] == f"candidate-{answers.index(200)}"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds"),
        ({"leaseTransitions": -1}, "spec.leaseTransitions"),
        ({"renewTime": "soon"}, "spec.renewTime"),
        ({"holderIdentity": ""}, "spec.holderIdentity"),
    ],
)
async def test_bad_leases_are_refused_with_the_field(api: JsonClient, spec: Any, field: str) -> None:
    status, body = await api.call("POST", LEASES, lease("a", **spec))
    assert (status, body["details"]["causes"][0]["field"]) == (422, field)
