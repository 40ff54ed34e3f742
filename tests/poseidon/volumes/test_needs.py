"""The needs of a pod's volumes, added to the class that it has without them."""

from __future__ import annotations

from poseidon.volumes.requirements import NO_NEEDS, VolumeNeeds, add_needs
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.volumes.test_state import Cluster

RULE = pb.VolumeRule(reason="zone").SerializeToString()


def plain(invalid: str = "") -> pb.TaskClass:
    return pb.TaskClass(
        id=7,
        requests=[pb.Quantity(resource="cpu", amount=100), pb.Quantity(resource="slots", amount=2)],
        tolerations=[pb.Toleration(key="t")],
        invalid=invalid,
    )


def test_a_class_without_needs_stays_as_it_is_but_for_its_number():
    message = add_needs(plain(), NO_NEEDS)
    expected = plain()
    expected.id = 0
    assert message == expected
    assert plain().id == 7, "the plain class is no other one"


def test_what_volumes_request_is_added():
    needs = VolumeNeeds(
        requests=(("slots", 3), ("attachable", 1)),
        rules=(RULE,),
        shared=(("attachable", "v"),),
        new_storage=(("fast", 5, 8),),
        sole=("ns/c",),
    )
    message = add_needs(plain(), needs)
    assert [(each.resource, each.amount) for each in message.requests] == [
        ("attachable", 1),
        ("cpu", 100),
        ("slots", 5),
    ]
    assert [(each.resource, each.volume) for each in message.attachments] == [("attachable", "v")]
    assert [(each.name, each.claim) for each in message.disks] == [("claim ns/c", True)]
    assert [(each.storage_class, each.largest, each.total) for each in message.new_storage] == [
        ("fast", 5, 8)
    ]
    assert [each.reason for each in message.volumes] == ["zone"]
    assert [each.key for each in message.tolerations] == ["t"]


def test_a_pod_that_can_run_nowhere_needs_no_rules_and_keeps_its_first_reason():
    needs = VolumeNeeds(rules=(RULE,), invalid="no such claim")
    found = add_needs(plain(), needs)
    assert (found.invalid, len(found.volumes)) == ("no such claim", 0)
    found = add_needs(plain(invalid="no name"), needs)
    assert (found.invalid, len(found.volumes)) == ("no name", 0)


def test_a_node_that_is_gone_is_no_longer_told_of():
    cluster = Cluster()
    cluster.node_gone("n1")
    assert list(cluster.take_offers()) == ["n2"]
