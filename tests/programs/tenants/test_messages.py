"""What is written where one tenant reads it names no pods and groups of another one."""

from __future__ import annotations

import pytest

from poseidon.kube.write.patch_writer import ConfigMapWrite
from poseidon.lifecycle.actions import AnnounceGroup, AnnounceUnschedulable
from tests.programs.tenants.scene import Cluster, member, single, uid_of


class Readers(Cluster):
    """Notes what is written, by the namespace of who reads it."""

    def __init__(self, *args, **more):
        self.read: dict[str, list[str]] = {}
        super().__init__(*args, **more)

    def _carry_out(self, action):
        super()._carry_out(action)
        match action:
            case AnnounceUnschedulable(ref, message, _):
                self.read.setdefault(ref.namespace, []).append(message)
            case AnnounceGroup(ref, _, message):
                self.read.setdefault(ref.namespace, []).append(message)
            case ConfigMapWrite(_, namespace, _, data):
                self.read.setdefault(namespace, []).extend(filter(None, data.values()))

    def told(self, namespace):
        """Everything that people in a namespace can read."""
        events = [message for name, message in self.said.items() if name.startswith(f"{namespace}/")]
        return " | ".join([*self.read.get(namespace, []), *events])


@pytest.fixture
def cluster():
    return Readers()


def test_a_victim_learns_the_uid_of_a_pod_of_others_and_that_one_how_many_it_waits_for(cluster):
    for name in ("web-0", "web-1"):
        cluster.create(single(name, namespace="shop", node="n1", cpu="1"))
    cluster.create(single("secret", namespace="lab", cpu="2", priority=5))
    cluster.run()
    preempted = f"Preempted by pod {uid_of('lab/secret')} on node n1"
    assert cluster.said == {"shop/web-0": preempted, "shop/web-1": preempted}
    assert "waits on node n1 until 2 other pods left it" in cluster.told("lab")
    assert "web" not in cluster.told("lab")
    assert "secret" not in cluster.told("shop")


def test_pods_of_one_namespace_are_told_by_name(cluster):
    cluster.create(single("web", namespace="shop", node="n1", cpu="1"))
    cluster.create(single("secret", namespace="lab", node="n1", cpu="1"))
    cluster.create(single("till", namespace="shop", cpu="2", priority=5))
    cluster.run()
    assert cluster.said["shop/web"] == "Preempted by pod shop/till on node n1"
    assert cluster.said["lab/secret"] == f"Preempted by pod {uid_of('shop/till')} on node n1"
    assert "waits on node n1 until shop/web and 1 more left it" in cluster.told("shop")


@pytest.mark.parametrize("grouped", [False, True])
def test_a_group_that_makes_room_is_not_told_for_whom_by_name(cluster, grouped):
    cluster.group("train", 2, namespace="shop", priority="1")
    cluster.create(
        *(member(f"train-{index}", namespace="shop", group="train", node="n1", cpu="1") for index in range(2))
    )
    if grouped:
        cluster.group("secret", 1, namespace="lab", priority="2")
        cluster.create(member("secret-0", namespace="lab", group="secret", cpu="2"))
    else:
        cluster.create(single("secret-0", namespace="lab", cpu="2", priority=5))
    cluster.run()
    assert sorted(cluster.evicted) == ["shop/train-0", "shop/train-1"]
    assert "secret" not in cluster.told("shop")
    assert "train" not in cluster.told("lab")
    assert uid_of("lab/secret-0") in cluster.told("shop")


def test_who_took_the_last_place_is_told_by_name_in_its_own_namespace_only(cluster):
    cluster.create(single("first", namespace="lab", cpu="2", priority=1))
    cluster.create(single("second", namespace="lab", cpu="2"), single("web", namespace="shop", cpu="2"))
    cluster.run(rounds=1)
    assert "n1 had room until other pods of the same round were placed" in cluster.told("shop")
    assert "lab/" not in cluster.told("shop")
    assert "shop/" not in cluster.told("lab")
