"""Bindings of claims once their pod has a node: what is written, what is waited for, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.volumes.requirements import NONE_TO_BIND
from tests.poseidon.volumes.objects import claim, storage_class, volume
from tests.poseidon.volumes.test_state import Cluster
from tests.support.storage import HOSTNAME

LOCAL = {"storage_class": "local", "at": (HOSTNAME, ["n1"])}


class Scene(Cluster):
    """A pod ``p`` with a claim ``c``, and others that are added."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.claim(**options)
        self.pod("p", "c")
        self.take_affected()

    def claim(self, name: str = "c", **options: Any) -> None:
        self.claims_changed([claim(name, **options)])

    def ended(self) -> dict[str, str]:
        return self.bindings.take_settled()


def selected(node: str) -> dict[str, Any]:
    return {"annotations": {"volume.kubernetes.io/selected-node": node}}


def test_a_provisioner_is_told_the_node_and_waited_for():
    scene = Scene()
    assert scene.begin("p", "n1", 0.0) == ""
    assert scene.bindings.take_writes() == [SelectNode("p", "default", "c", "c", "n1")]
    assert scene.bindings.take_writes() == []
    assert "p" in scene.bindings
    scene.claim(**selected("n1"))
    assert scene.ended() == {}
    scene.claim(volume="v", **selected("n1"))
    assert scene.ended() == {}, "its volume has not been seen"
    scene.volumes_changed([volume("v", to="default/c")])
    assert scene.ended() == {"p": ""}
    assert "p" not in scene.bindings


def test_a_node_that_is_chosen_already_is_not_chosen_again():
    scene = Scene(**selected("n1"))
    assert scene.begin("p", "n1", 0.0) == ""
    assert scene.bindings.take_writes() == []
    other = Scene(**selected("n2"))
    assert other.begin("p", "n1", 0.0) == 'persistentvolumeclaim "c" is being bound for node n2'
    assert "p" not in other.bindings


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (selected("n2"), 'persistentvolumeclaim "c" is being bound for node n2'),
        ({}, 'provisioning of persistentvolumeclaim "c" for node n1 failed'),
    ],
)
def test_a_provisioner_that_gives_up_or_is_told_otherwise_ends_the_binding(change, reason):
    scene = Scene()
    scene.begin("p", "n1", 0.0)
    scene.claim(**selected("n1"))
    scene.claim(**change)
    assert scene.ended() == {"p": reason}


def test_before_the_node_is_seen_on_the_claim_nothing_has_failed():
    scene = Scene()
    scene.begin("p", "n1", 0.0)
    scene.claim(size="2Gi")
    assert scene.ended() == {}


def test_an_existing_volume_is_given_to_the_claim_and_kept_for_it():
    scene = Scene(storage_class="local")
    scene.volumes_changed([volume("big", size="2Gi", **LOCAL), volume("small", **LOCAL)])
    assert scene.begin("p", "n1", 0.0) == ""
    [write] = scene.bindings.take_writes()
    assert isinstance(write, GiveVolume)
    assert (write.pod, write.claim, write.volume, write.volume_uid) == ("p", "c", "small", "small")
    scene.claim("d", storage_class="local", size="1Gi")
    scene.pod("q", "d")
    scene.begin("q", "n1", 0.0)
    [other] = scene.bindings.take_writes()
    assert isinstance(other, GiveVolume)
    assert other.volume == "big"
    scene.claim("e", storage_class="local")
    scene.pod("r", "e")
    assert scene.begin("r", "n1", 0.0) == NONE_TO_BIND


def test_a_volume_that_was_kept_for_a_claim_that_is_gone_is_free_again():
    scene = Scene(storage_class="local")
    scene.volumes_changed([volume("v", **LOCAL)])
    scene.begin("p", "n1", 0.0)
    scene.abandon("p")
    scene.claim("d", storage_class="local")
    scene.pod("q", "d")
    assert scene.begin("q", "n1", 0.0) == ""


def test_of_several_claims_none_is_kept_if_one_cannot_be_bound():
    scene = Scene(storage_class="local")
    scene.claim("d", storage_class="local")
    scene.pod("q", "c", "d")
    scene.volumes_changed([volume("v", **LOCAL)])
    assert scene.begin("q", "n1", 0.0) == NONE_TO_BIND
    assert scene.bindings.take_writes() == []
    assert scene.begin("p", "n1", 0.0) == "", "the only volume is free"
    assert scene.begin("q", "n1", 0.0) == NONE_TO_BIND
    scene.claim("f", storage_class="local")
    scene.pod("s", "f")
    assert scene.begin("s", "n1", 0.0) == NONE_TO_BIND, "and still kept for the first"


def test_pods_that_share_a_claim_wait_for_one_binding_and_one_node():
    scene = Scene()
    scene.pod("q", "c")
    assert scene.begin("p", "n1", 0.0) == ""
    assert scene.begin("q", "n2", 0.0) == 'persistentvolumeclaim "c" is being bound for node n1'
    assert scene.begin("q", "n1", 0.0) == ""
    scene.claim(volume="v")
    scene.volumes_changed([volume("v", to="default/c")])
    assert scene.ended() == {"p": "", "q": ""}


def test_all_claims_of_a_pod_have_to_be_bound():
    scene = Scene()
    scene.claim("d")
    scene.pod("q", "c", "d")
    scene.begin("q", "n1", 0.0)
    scene.volumes_changed([volume("v", to="default/c"), volume("w", to="default/d")])
    scene.claim(volume="v")
    assert scene.ended() == {}
    scene.claim("d", volume="w")
    assert scene.ended() == {"q": ""}


def test_a_volume_out_of_reach_ends_the_binding():
    scene = Scene()
    scene.begin("p", "n1", 0.0)
    scene.volumes_changed([volume("v", to="default/c", at=(HOSTNAME, ["n2"]))])
    scene.claim(volume="v")
    assert scene.ended() == {"p": 'persistentvolume "v" cannot be reached from node n1'}


def test_bindings_take_so_long_at_most():
    scene = Scene()
    scene.claim("d")
    scene.pod("q", "d", "c")
    scene.begin("q", "n1", 100.0)
    scene.bindings.expire(159.5)
    assert scene.ended() == {}
    scene.bindings.expire(160.0)
    assert scene.ended() == {"q": "volumes were not bound within 60 s: c, d"}


def test_a_node_that_goes_ends_the_bindings_for_it_alone():
    scene = Scene()
    scene.claim("d")
    scene.pod("q", "d")
    scene.begin("p", "n1", 0.0)
    scene.begin("q", "n2", 0.0)
    scene.bindings.node_gone("n1")
    assert scene.ended() == {"p": "node n1 is gone"}


def test_a_write_that_fails_ends_the_binding_of_its_pod():
    scene = Scene()
    scene.begin("p", "n1", 0.0)
    [write] = scene.bindings.take_writes()
    scene.bindings.note_failure(write._replace(pod="other"), "no")
    assert scene.ended() == {}
    scene.bindings.note_failure(write, "forbidden")
    assert scene.bindings.has_news
    assert scene.ended() == {"p": "forbidden"}
    scene.bindings.note_failure(write, "again")
    assert scene.ended() == {}


def test_a_claim_that_does_not_exist_cannot_be_bound():
    scene = Scene()
    scene.claims_changed([claim("c")._replace(object=None)])
    assert scene.bindings.begin("p", "n1", ("default/c",), 0.0) == 'persistentvolumeclaim "c" not found'


def test_a_class_whose_volumes_are_made_at_once_has_its_volume_given():
    scene = Scene()
    scene.storage_classes_changed([storage_class("fast", provisioner="kubernetes.io/no-provisioner")])
    assert scene.begin("p", "n1", 0.0) == NONE_TO_BIND
