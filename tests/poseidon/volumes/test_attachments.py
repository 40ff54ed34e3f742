"""What the API server says is attached: known volumes and disks, and what pods that are gone have left."""

from __future__ import annotations

import pytest

from poseidon.kube.api.resource import Change
from poseidon.volumes.catalogue import Catalogue
from tests.poseidon.volumes.objects import claim, csi_node, present, volume
from tests.poseidon.volumes.test_state import Cluster
from tests.support.storage import attachment

DRIVER = "disk.example.com"
RESOURCE = f"attachable-volumes-csi-{DRIVER}"


@pytest.fixture
def cluster():
    """A pod ``p`` waits with a volume that may be attached."""
    made = Cluster()
    made.csi_nodes_changed([csi_node("n1", disk_example_com=3), csi_node("n2", disk_example_com=3)])
    made.volumes_changed([volume("v", to="default/c", driver=DRIVER)])
    made.claims_changed([claim("c", volume="v")])
    made.pod("p", "c")
    made.affected()
    made._changed_nodes.clear()
    return made


def attach(cluster, *names, node="n1", volume="v", **more):
    changes = [present(attachment(name, node, DRIVER, volume=volume, **more)) for name in names]
    cluster.volume_attachments_changed(changes)
    nodes, users = {*cluster._changed_nodes}, cluster.affected()
    cluster._changed_nodes.clear()
    return nodes, users


def test_an_attachment_concerns_its_machine_and_who_uses_the_volume(cluster):
    assert attach(cluster, "a") == ({"n1"}, {"p"})
    assert attach(cluster, "a") == (set(), set()), "nothing new"
    assert attach(cluster, "b", volume="unknown") == ({"n1"}, set())


def test_one_that_moves_concerns_both_machines_and_one_that_goes_its_own(cluster):
    attach(cluster, "a")
    nodes, _ = attach(cluster, "a", node="n2")
    assert nodes == {"n1", "n2"}
    assert not cluster._attached.has_any("n1")
    assert cluster._attached.nodes_of("default/c") == {"n2"}
    cluster.volume_attachments_changed([Change("a", None)])
    assert cluster._changed_nodes == {"n2"}
    assert cluster.affected() == {"p"}
    assert not cluster._attached.has_any("n2")
    assert cluster._attached.nodes_of("default/c") == set()


def test_a_machine_keeps_its_other_attachments_when_one_goes(cluster):
    attach(cluster, "a", "b", volume="other")
    cluster.volume_attachments_changed([Change("a", None)])
    assert cluster._attached.has_any("n1")
    assert cluster._attached.count_unknown("n1") == {RESOURCE: 1}


def test_machines_that_are_not_known_are_not_told_of(cluster):
    nodes, _ = attach(cluster, "a", node="n9")
    assert nodes == set()


def test_what_no_pod_on_the_machine_has_is_left_there(cluster):
    attach(cluster, "a")
    attached = cluster._attached
    assert attached.is_left("default/c")
    assert attached.count_unknown("n1") == {RESOURCE: 1}
    cluster.move_pod("p", "n1")
    assert not attached.is_left("default/c")
    assert attached.count_unknown("n1") == {}


def test_a_pod_need_not_find_free_what_is_attached_to_the_machine_already(cluster):
    attach(cluster, "a")
    assert cluster._attached.not_needed("n1", ["default/c"]) == {RESOURCE: 2}  # what is left there besides
    assert cluster._attached.not_needed("n2", ["default/c"]) == {}
    assert cluster._attached.list_named("n1") == ("v",)
    assert cluster._attached.list_named("n2") == ()


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ({"volume": "v"}, True),
        ({"volume": "", "handle": "disk-1"}, True),
        ({"volume": "", "handle": ""}, False),
        ({"volume": "v", "node": ""}, False),
    ],
)
def test_attachments_that_do_not_say_what_or_where_do_not_count(cluster, more, known):
    nodes, _ = attach(cluster, "a", **more)
    assert bool(nodes) is known
    assert cluster._attached.has_any("n1") is known


def test_a_driver_is_new_once_however_often_it_comes():
    catalogue = Catalogue()
    assert catalogue.put_driver("u", DRIVER)
    assert not catalogue.put_driver("u", DRIVER)
    assert catalogue.put_driver("u", "another")
    assert catalogue.put_driver("u", "")
    assert not catalogue.put_driver("u", "")
    assert not catalogue.put_driver("never", "")
