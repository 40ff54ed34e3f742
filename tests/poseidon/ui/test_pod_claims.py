"""Claims of a pod: what they ask for, the devices that they have, what they wait for; also after a plan of files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.api.resource import Change
from poseidon.manifests.loader import load_manifests
from poseidon.ui.sources.files import FileInput, FileSource
from poseidon.ui.views.claims import show_claims
from poseidon.ui.views.nodes import show_node
from poseidon.ui.views.pods import show_pod
from poseidon.ui.work.inputs import ClusterInput
from tests.poseidon.ui.objects import Wall, known, make_node, make_pod, record, store
from tests.poseidon.ui.test_snapshots import InProcess
from tests.support.waiting import until

EXAMPLE = Path("examples/15-devices")


def claim(name, spec, *devices, deleting=False):
    results = [{"request": "r", "driver": "gpu", "pool": "n1", "device": each} for each in devices]
    metadata = {"name": name, "namespace": "a", "uid": name}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    raw = {"metadata": metadata, "spec": {"devices": {"requests": spec}}, "status": status}
    return Change(name, msgspec.convert(raw, ResourceClaim))


def asks(kind, **more):
    return {"name": "r", "exactly": {"deviceClassName": kind, **more}}


def shown(claims, stated, **status):
    found = known(store(make_node("n1"), make_pod("a/x", resourceClaims=stated, status=status)))
    found.devices.claims_changed(claims)
    return show_claims(found, record(found.store, "a/x"))


def test_a_pod_without_claims_shows_none():
    assert shown([claim("own", [asks("gpu")])], []) == []


def test_claims_have_devices_or_wait():
    listed = {
        "name": "r",
        "firstAvailable": [{"deviceClassName": "large", "count": 1}, {"deviceClassName": "gpu", "count": 2}],
    }
    found = shown(
        [
            claim("shared", [asks("gpu", count=2), asks("nic", allocationMode="All")], "g1", "g0"),
            claim("x-own", [listed]),
            claim("old", [asks("gpu")], deleting=True),
        ],
        [
            {"name": "one", "resourceClaimName": "shared"},
            {"name": "two", "resourceClaimTemplateName": "t"},
            {"name": "three", "resourceClaimTemplateName": "u"},
            {"name": "four", "resourceClaimName": "old"},
            {"name": "five", "resourceClaimName": "nowhere"},
        ],
        resourceClaimStatuses=[{"name": "two", "resourceClaimName": "x-own"}],
    )
    assert [
        (each["name"], each["claim"], each["asks"], each["devices"], each["waits"]) for each in found
    ] == [
        ("one", "a/shared", ["2 of gpu", "all of nic"], ["gpu/n1/g0", "gpu/n1/g1"], ""),
        ("two", "a/x-own", ["1 of large, or else 2 of gpu"], [], "has no devices yet"),
        ("three", "", [], [], "not made yet from template u"),
        ("four", "a/old", ["1 of gpu"], [], "is being deleted"),
        ("five", "a/nowhere", [], [], "does not exist"),
    ]


def test_the_claim_of_extended_resources_is_one_of_them():
    made = {"resourceClaimName": "x-extended", "requestMappings": []}
    (only,) = shown([claim("x-extended", [asks("gpu")], "g0")], [], extendedResourceClaimStatus=made)
    assert (only["name"], only["claim"], only["devices"]) == ("", "a/x-extended", ["gpu/n1/g0"])


def test_specs_that_make_no_sense_ask_for_nothing():
    odd = [
        None,
        7,
        {"exactly": []},
        {"exactly": {"deviceClassName": 3}},
        {"firstAvailable": {}},
        asks("gpu", count="x"),
    ]
    (only,) = shown([claim("odd", odd)], [{"name": "c", "resourceClaimName": "odd"}])
    assert only["asks"] == ["1 of gpu"]


async def test_after_a_plan_of_files_claims_have_the_devices_that_it_gives_them():
    files = tuple(str(EXAMPLE / name) for name in ("cluster.yaml", "one-each.yaml"))
    given = ClusterInput(files, now=1_800_000_000.0)
    source = FileSource(FileInput("x", given, None, load_manifests(files)), InProcess(), Wall())
    run = asyncio.create_task(source.run())
    await until(
        lambda: source.known.about.warnings and "shown as after a plan" in source.known.about.warnings[-1]
    )
    run.cancel()
    answer = show_node(source.known, "a100-1", 0, 10)
    assert answer is not None
    assert answer["devices"]["free"] == 0
    assert {one["pods"][0] for each in answer["devices"]["items"] for one in each["claims"]} == {
        "ml/train-0",
        "ml/train-1",
    }
    placed = show_pod(source.known, record(source.known.store, "ml/train-0"), None, None)
    (own,) = placed["claims"]
    assert own["waits"] == ""
    assert own["devices"][0].startswith("gpu.example.com/a100-1/")
    waiting = show_pod(source.known, record(source.known.store, "ml/train-5"), None, None)
    assert [each["waits"] for each in waiting["claims"]] == ["has no devices yet"]
