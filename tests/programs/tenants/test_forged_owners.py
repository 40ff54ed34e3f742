"""Whatever a pod says of its owners, it joins nobody's job or group in another namespace."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import OwnerReference
from tests.poseidon.bridge.objects import present
from tests.poseidon.pod_groups.objects import owner, pod_group
from tests.programs.tenants.scene import Cluster, labelled, member, single

POD_GROUP = "scheduling.x-k8s.io/pod-group"


def owned(made, *, uid, kind="ReplicaSet", name="web"):
    reference = OwnerReference(api_version="apps/v1", kind=kind, name=name, uid=uid, controller=True)
    return replace(made, metadata=replace(made.metadata, owner_references=(reference,)))


def moved(found, namespace):
    return replace(found, metadata=replace(found.metadata, namespace=namespace))


@pytest.fixture
def cluster():
    return Cluster(("n1", "n2"), gangs={"timeout": 60})


def train(cluster, count, *, needed=3, node=""):
    """Pods of the gang shop/train, described by a PodGroup."""
    cluster.state.gangs.get_handler("PodGroup")([present(moved(pod_group("train", needed), "shop"))])
    cluster.create(
        *(
            labelled(single(f"train-{index}", namespace="shop", node=node, cpu="500m"), {POD_GROUP: "train"})
            for index in range(count)
        )
    )


@pytest.mark.parametrize("forged", ["PodGroup/shop/train", "shop/train", "train"])
def test_a_foreign_pod_makes_no_gang_whole(cluster, forged):
    train(cluster, 2)
    cluster.create(owned(single("forged", namespace="evil", cpu="100m"), uid=forged))
    cluster.run()
    assert cluster.places == {"evil/forged": cluster.places["evil/forged"]}


def test_a_foreign_pod_makes_no_topology_group_whole(cluster):
    cluster.group("train", 3, namespace="shop")
    cluster.create(*(member(f"t-{index}", namespace="shop", group="train", cpu="500m") for index in range(2)))
    cluster.create(owned(single("forged", namespace="evil", cpu="100m"), uid="TopologyGroup/shop/train"))
    cluster.run()
    assert set(cluster.places) == {"evil/forged"}


def test_no_foreign_gang_is_made_to_fail_by_pods_that_say_they_are_in_it(cluster):
    """A running gang stays, however many pods elsewhere claim to be members that find no place."""
    train(cluster, 3, node="n1")
    cluster.run()
    cluster.create(
        *(
            owned(single(f"forged-{index}", namespace="evil", cpu="64"), uid="PodGroup/shop/train")
            for index in range(5)
        )
    )
    cluster.run(rounds=12)
    assert cluster.evicted == []


def test_a_gang_with_the_uid_of_anothers_owner_does_not_hold_up_its_pods(cluster):
    """By the annotation a pod and its like are a gang; that says nothing to pods whose owner really has this uid."""
    forged = owned(single("forged", namespace="evil", cpu="100m"), uid="rs-1", name="mine")
    notes = {"firmament-gang-scheduling": "100"}
    forged = replace(forged, metadata=replace(forged.metadata, annotations=notes))
    cluster.create(forged)
    taker = cluster.state.gangs.get_handler("ReplicaSet")
    taker([present(moved(owner("mine", replicas=50), "evil"))])
    cluster.create(owned(single("web-0", namespace="shop", cpu="100m"), uid="rs-1"))
    cluster.run()
    assert set(cluster.places) == {"shop/web-0"}


def test_owners_of_two_names_with_one_uid_are_two_gangs_that_come_and_go(cluster):
    notes = {"firmament-gang-scheduling": "100"}
    made = []
    for name in ("a", "b/c", "b"):
        each = owned(single(name.replace("/", "-"), namespace="evil"), uid="same", name=name)
        made.append(replace(each, metadata=replace(each.metadata, annotations=notes)))
    cluster.create(*made)
    cluster.delete(*(f"evil/{each.metadata.name}" for each in made))
    cluster.run()
    assert cluster.pods == {}
