"""What the controllers of volumes would do to the claims of an input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.storage import PersistentVolume, PersistentVolumeClaim
from poseidon.manifests.controllers.volumes import play_volume_controllers
from tests.poseidon.manifests.objects import node, pod, workload
from tests.support.effort import examples
from tests.support.storage import claim, storage_class, using, volume

DEFAULT = "storageclass.kubernetes.io/is-default-class"


def bound(loaded):
    """Return to which volume each claim of an input is bound."""
    claims = (each for each in loaded.storage if isinstance(each, PersistentVolumeClaim))
    return {
        each.metadata.name: each.spec.volume_name if each.status.phase == "Bound" else None for each in claims
    }


def classes_of(loaded):
    claims = (each for each in loaded.storage if isinstance(each, PersistentVolumeClaim))
    return {each.metadata.name: each.spec.storage_class_name for each in claims}


def held(found, version="7"):
    found["metadata"]["resourceVersion"] = version
    return found


def default(found, created="2026-01-01T00:00:00Z", key=DEFAULT):
    found["metadata"] |= {"annotations": {key: "true"}, "creationTimestamp": created}
    return found


SELECTING = {"matchLabels": {"tier": "gold"}}


@pytest.mark.parametrize(
    ("wanted", "volumes", "chosen"),
    [
        ({}, [volume("v", storage_class="manual")], "v"),
        ({"size": "2Gi"}, [volume("v", storage_class="manual")], None),
        ({}, [volume("v", storage_class="other")], None),
        ({"storage_class": ""}, [volume("v", storage_class="")], "v"),
        ({"modes": ("ReadWriteMany",)}, [volume("v", storage_class="manual")], None),
        ({"volumeMode": "Block"}, [volume("v", storage_class="manual")], None),
        ({"selector": SELECTING}, [volume("v", storage_class="manual")], None),
        ({"selector": SELECTING}, [volume("v", storage_class="manual", labels={"tier": "gold"})], "v"),
        (
            {},
            [
                volume("v9", storage_class="manual", size="9Gi"),
                volume("v3", storage_class="manual", size="3Gi"),
            ],
            "v3",
        ),
        # Volumes of fewer access modes come first, whatever their size.
        (
            {},
            [
                volume("few", storage_class="manual", size="9Gi"),
                volume("many", storage_class="manual", modes=("ReadWriteOnce", "ReadOnlyMany")),
            ],
            "few",
        ),
        (
            {"volumeName": "v2"},
            [volume("v1", storage_class="manual"), volume("v2", storage_class="manual")],
            "v2",
        ),
        ({"volumeName": "v2"}, [volume("v1", storage_class="manual")], None),
        ({"volumeName": "v", "size": "5Gi"}, [volume("v", storage_class="manual")], None),
        ({"volumeName": "v"}, [volume("v", storage_class="manual", to="default/another")], None),
        ({"volumeName": "v"}, [volume("v", storage_class="manual", to="default/c")], "v"),
        # A volume that names its claim is not asked for its class.
        (
            {},
            [volume("v", storage_class="manual"), volume("mine", storage_class="x", to="default/c")],
            "mine",
        ),
        ({}, [volume("v", storage_class="manual", to="default/another")], None),
    ],
)
def test_a_claim_is_bound_to_the_volume_that_suits(load, wanted, volumes, chosen):
    options = {"storage_class": "manual", **wanted}
    assert bound(load(claim("c", **options), *volumes)) == {"c": chosen}


def test_a_volume_is_given_once_and_who_names_it_comes_first(load):
    given = [
        claim("first", storage_class="manual"),
        claim("named", storage_class="manual", volumeName="v"),
        claim("last", storage_class="manual"),
        volume("v", storage_class="manual"),
        volume("w", storage_class="manual"),
    ]
    assert bound(load(*given)) == {"first": "w", "named": "v", "last": None}


def test_claims_of_a_class_that_waits_are_the_schedulers(load):
    assert bound(load(storage_class(), claim("c"), volume("v"))) == {"c": None}
    assert bound(load(storage_class(), claim("c", volumeName="v"), volume("v"))) == {"c": "v"}


@pytest.mark.parametrize(
    ("provisioner", "wanted", "made"),
    [
        ("disk.example.com", {}, "pvc-default-c"),
        ("kubernetes.io/no-provisioner", {}, None),
        ("disk.example.com", {"selector": SELECTING}, None),
        ("disk.example.com", {"volumeName": "gone"}, None),
    ],
)
def test_a_volume_is_made_for_a_claim_of_a_class_that_does_not_wait(load, provisioner, wanted, made):
    given = [
        storage_class("now", provisioner=provisioner, waits=False),
        claim("c", storage_class="now", **wanted),
    ]
    assert bound(load(*given)) == {"c": made}


def test_a_volume_that_is_there_is_taken_before_one_is_made(load):
    given = [
        storage_class("now", waits=False),
        claim("c", storage_class="now"),
        volume("v", storage_class="now"),
    ]
    assert bound(load(*given)) == {"c": "v"}


def test_a_volume_is_made_where_its_class_allows(load):
    given = [
        storage_class("now", waits=False, topologies=[("zone", ["a", "b"])]),
        claim("c", storage_class="now"),
    ]
    (made,) = [each for each in load(*given).storage if isinstance(each, PersistentVolume)]
    affinity = made.spec.node_affinity
    assert affinity is not None
    assert affinity.required is not None
    (term,) = affinity.required.node_selector_terms
    assert [(each.key, each.operator, each.values) for each in term.match_expressions] == [
        ("zone", "In", ("a", "b"))
    ]


def test_what_an_api_server_has_held_is_left_as_it_is(load):
    fast = storage_class("now", waits=False)
    scratch = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    assert bound(load(fast, held(claim("c", storage_class="now")))) == {"c": None}
    assert bound(load(held(claim("c", storage_class="m")), held(volume("v", storage_class="m")))) == {
        "c": None
    }
    assert bound(load(held(claim("c", storage_class="m")), volume("v", storage_class="m"))) == {"c": "v"}
    assert bound(load(held(pod("p", volumes=scratch)))) == {}


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "StatefulSet", "Job"])
def test_ephemeral_volumes_come_with_claims(load, kind):
    volumes = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}]
    given = pod("w-0", volumes=volumes, phase="Pending") if kind == "Pod" else workload(kind, "w")
    if kind != "Pod":
        given["spec"]["template"]["spec"]["volumes"] = volumes
    loaded = load(node("n1"), storage_class(), given)
    (found,) = [each for each in loaded.storage if isinstance(each, PersistentVolumeClaim)]
    assert (found.metadata.name, found.spec.storage_class_name) == ("w-0-tmp", "fast")
    assert [(each.kind, each.name) for each in found.metadata.owner_references] == [("Pod", "w-0")]


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        ([default(storage_class("a"))], "a"),
        ([default(storage_class("a"), key="storageclass.beta.kubernetes.io/is-default-class")], "a"),
        ([default(storage_class("a")), default(storage_class("b"), "2026-01-01T02:00:00+01:00")], "b"),
        ([default(storage_class("b")), default(storage_class("a"))], "a"),
        ([storage_class("a")], None),
    ],
)
def test_of_several_default_classes_the_newest_counts_then_the_first_by_name(load, classes, chosen):
    assert classes_of(load(claim("c", storage_class=None), *classes)) == {"c": chosen}


def test_a_claim_gets_the_default_class_even_if_it_names_a_volume(load):
    # ... so that a volume without a class does not suit it, which `storageClassName: ""` avoids.
    given = [default(storage_class("a", waits=False)), volume("v", storage_class="")]
    assert bound(load(claim("c", storage_class=None, volumeName="v"), *given)) == {"c": None}
    assert bound(load(claim("c", storage_class="", volumeName="v"), *given)) == {"c": "v"}


def test_the_lack_of_a_default_class_is_named_once(load):
    pods = [pod(f"p{each}", volumes=using("c", "d")) for each in range(3)]
    claims = [claim(name, storage_class=None, namespace="shop") for name in ("c", "d")]
    (line,) = load(*pods, *claims).warnings
    assert line.startswith("PersistentVolumeClaim shop/c and 1 more: names no StorageClass")


# --- against an oracle: whatever the claims and volumes are, in which order they come ---------------------------

SIZES = st.integers(1, 4)
MODES = st.sets(st.sampled_from(["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]), min_size=1).map(sorted)
CLASSES = st.sampled_from(["", "manual", "other"])


@settings(max_examples=examples(150))
@given(
    st.lists(st.tuples(SIZES, MODES, CLASSES), max_size=5),
    st.lists(st.tuples(SIZES, MODES, CLASSES), max_size=5),
)
def test_claims_take_volumes_one_after_the_other(claims, volumes):
    objects: list[KubeStruct] = []
    for at, (size, modes, name) in enumerate(claims):
        wanted = claim(f"c{at}", size=f"{size}Gi", modes=tuple(modes), storage_class=name)
        objects.append(convert_object(wanted, PersistentVolumeClaim))
    for at, (size, modes, name) in enumerate(volumes):
        there = volume(f"v{at}", size=f"{size}Gi", modes=tuple(modes), storage_class=name)
        objects.append(convert_object(there, PersistentVolume))
    found = play_volume_controllers(objects, ())
    free, expected = dict(enumerate(volumes)), {}
    for at, (size, modes, name) in enumerate(claims):
        suiting = [
            (len(each[1]), each[0], number)
            for number, each in free.items()
            if each[0] >= size and set(modes) <= set(each[1]) and each[2] == name
        ]
        expected[f"c{at}"] = f"v{min(suiting)[2]}" if suiting else ""
        if suiting:
            del free[min(suiting)[2]]
    assert {
        each.metadata.name: each.spec.volume_name for each in found if isinstance(each, PersistentVolumeClaim)
    } == expected
