"""What is changed in the status of a claim of devices, and which writes the claim does not allow any more."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.devices import MOST_CONSUMERS, ResourceClaim
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.device_claim_writer import (
    DeviceClaimWrite,
    RefusedWriteError,
    apply_status,
    build_status,
)


def device(name: str, **more: Any) -> dict:
    return {"request": "r", "driver": "d", "pool": "p", "device": name, **more}


def allocation(*devices: dict, **more: Any) -> dict:
    return {"devices": {"results": list(devices)}, **more}


ONE, OTHER = allocation(device("gpu-0")), allocation(device("gpu-1"))


def claim(
    *reserved: str, allocated: dict | None = None, uid: str = "c", deleting: bool = False
) -> ResourceClaim:
    metadata = {"name": "gpu", "namespace": "ns", "uid": uid}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    users = [{"resource": "pods", "name": f"p-{each}", "uid": each} for each in reserved]
    status = {"reservedFor": users, **({"allocation": allocated} if allocated else {})}
    return convert_object({"metadata": metadata, "status": status}, ResourceClaim)


def write(*join: str, leave: tuple[str, ...] = (), allocated: dict | None = None) -> DeviceClaimWrite:
    return DeviceClaimWrite(
        claim(), allocated, tuple(PodRef(each, "ns", f"p-{each}") for each in join), leave
    )


def users(*uids: str) -> list[dict]:
    return [{"resource": "pods", "name": f"p-{uid}", "uid": uid} for uid in uids]


@pytest.mark.parametrize(
    ("now", "wanted", "change"),
    [
        (claim(), write("a", allocated=ONE), {"allocation": ONE, "reservedFor": users("a")}),
        (claim(allocated=ONE), write("a"), {"reservedFor": users("a")}),
        (claim(allocated=ONE), write("a", allocated=ONE), {"reservedFor": users("a")}),
        (claim("a", allocated=ONE), write("a"), None),
        (claim("a", allocated=ONE), write("a", "b"), {"reservedFor": users("a", "b")}),
        (claim("a", "b", allocated=ONE), write(leave=("a",)), {"reservedFor": users("b")}),
        (claim("a", allocated=ONE), write("b", leave=("a",)), {"reservedFor": users("b")}),
        (claim("a", allocated=ONE), write(leave=("a",)), {"allocation": None, "reservedFor": None}),
        (claim(allocated=ONE), write(leave=("a",)), {"allocation": None, "reservedFor": None}),
        (claim("b", allocated=ONE), write(leave=("a",)), None),
        (claim("a"), write(leave=("a",)), {"reservedFor": None}),
        (claim(), write(leave=("a",)), None),
        (
            claim("a", allocated=ONE, deleting=True),
            write(leave=("a",)),
            {"allocation": None, "reservedFor": None},
        ),
    ],
)
def test_what_is_changed(now, wanted, change):
    found = build_status(now, wanted)
    if found is not None and found.get("reservedFor"):
        found["reservedFor"] = [{key: each[key] for key in users("x")[0]} for each in found["reservedFor"]]
    assert found == change


@pytest.mark.parametrize(
    ("now", "wanted", "why"),
    [
        (claim(uid="d"), write("a", allocated=ONE), 'resourceclaim "gpu" not found'),
        (claim(uid="d", allocated=ONE), write(leave=("a",)), 'resourceclaim "gpu" not found'),
        (claim(deleting=True), write("a", allocated=ONE), 'resourceclaim "gpu" is being deleted'),
        (claim(), write("a"), 'resourceclaim "gpu" has lost its devices'),
        (
            claim(allocated=OTHER),
            write("a", allocated=ONE),
            'resourceclaim "gpu" has got other devices meanwhile',
        ),
        (
            claim(allocated=allocation(device("gpu-0", shareID="s"))),
            write("a", allocated=ONE),
            'resourceclaim "gpu" has got other devices meanwhile',
        ),
        (claim(*map(str, range(MOST_CONSUMERS)), allocated=ONE), write("a"), "resourceclaim in use"),
    ],
)
def test_what_the_claim_does_not_allow(now, wanted, why):
    with pytest.raises(RefusedWriteError) as refused:
        build_status(now, wanted)
    assert str(refused.value) == why


def test_as_many_pods_as_may_use_a_claim_do():
    change = build_status(claim(*map(str, range(MOST_CONSUMERS - 1)), allocated=ONE), write("a"))
    assert change is not None
    assert len(change["reservedFor"]) == MOST_CONSUMERS


def test_neither_the_order_of_devices_nor_other_fields_make_an_allocation_another():
    both = device("gpu-0"), device("gpu-1")
    now = claim(allocated=allocation(*reversed(both), allocationTimestamp="2026-01-01T00:00:00Z"))
    assert build_status(now, write("a", allocated=allocation(*both))) == {"reservedFor": users("a")}


def test_a_claim_after_a_change_is_as_the_server_would_show_it():
    now = claim("a", allocated=ONE)
    freed = apply_status(now, {"allocation": None, "reservedFor": None})
    assert (freed.status.allocation, freed.status.reserved_for) == (None, ())
    shared = apply_status(now, {"reservedFor": users("a", "b")})
    assert shared.status.allocation == ONE
    assert [each.uid for each in shared.status.reserved_for] == ["a", "b"]
    assert apply_status(now, {}) == now
