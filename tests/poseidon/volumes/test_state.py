"""Single situations of the state of volumes."""

from __future__ import annotations

import pytest

from poseidon.kube.api.pods import PodClaim
from poseidon.kube.api.resource import Change
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode, patch_of
from poseidon.volumes.binding import VolumeOptions
from poseidon.volumes.claims import compute_rank
from poseidon.volumes.requirements import IN_USE, NO_SUCH_VOLUME, NONE_TO_BIND
from poseidon.volumes.resolution import NOTHING, TAKEN
from poseidon.volumes.state import VolumeState
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.volumes.objects import claim, csi_node, storage_class, volume
from tests.support.storage import HOSTNAME, ZONE

RESOURCE = "attachable-volumes-csi-disk.example.com"


class Cluster(VolumeState):
    """A state with two nodes and three classes."""

    def __init__(self):
        super().__init__(VolumeOptions(bind_timeout=60.0))
        self.storage_classes_changed(
            [storage_class(), storage_class("local", provisioner="kubernetes.io/no-provisioner")]
        )
        for name, zone in (("n1", "a"), ("n2", "b")):
            self.node_changed(name, {HOSTNAME: name, ZONE: zone})

    def pod(self, uid, *names, place="", priority=0):
        claims = tuple(PodClaim(f"default/{name}") for name in names)
        return self.put_pod(uid, f"default/{uid}", claims, compute_rank(priority, 0.0, uid), place)

    def affected(self):
        return {uid for uid, _ in self.take_affected()}

    def requests(self, uid):
        return dict(self.resolution(uid).needs.requests)


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def limited(cluster):
    cluster.csi_nodes_changed([csi_node("n1", disk_example_com=3)])
    cluster.volumes_changed([volume("v", to="default/c", driver="disk.example.com")])
    cluster.claims_changed([claim("c", volume="v")])
    return cluster


def test_pods_of_a_node_that_share_a_volume_attach_it_once(limited):
    limited.pod("a", "c", place="n1")
    limited.pod("b", "c", place="n1")
    limited.pod("c", "c", place="n2")
    limited.take_affected()
    assert [limited.requests(uid) for uid in "abc"] == [{RESOURCE: 1}, {}, {RESOURCE: 1}]
    limited.move_pod("a", "")
    assert limited.affected() == {"a", "b"}
    assert limited.requests("b") == {RESOURCE: 1}
    limited.remove_pod("b")
    assert limited.affected() == set()


def test_a_pod_that_waits_says_which_volumes_it_shares_and_machines_which_they_have(limited):
    limited.pod("a", "c", place="n1")
    limited.take_offers()
    assert limited.pod("b", "c").needs.shared == ((RESOURCE, "v"),)
    assert limited.take_offers().keys() == {"n1"}
    assert (limited.list_attached("n1"), limited.list_attached("n2")) == (("v",), ())
    assert limited.resolution("a").needs.shared == ()
    limited.move_pod("b", "n2")
    assert limited.take_offers().keys() == {"n2"}
    assert limited.list_attached("n2") == ("v",)
    limited.remove_pod("b")
    assert limited.take_offers().keys() == {"n1", "n2"}
    assert (limited.list_attached("n1"), limited.list_attached("n2")) == ((), ())


def test_machines_without_a_limit_offer_any_number_of_what_others_limit(limited):
    offers = limited.take_offers()
    assert offers["n1"] == {RESOURCE: 3}
    assert offers["n2"][RESOURCE] > 10**6
    limited.csi_nodes_changed([Change("n1", None)])
    assert limited.take_offers() == {"n1": {}, "n2": {}}


def test_a_driver_without_limits_is_not_counted(cluster):
    cluster.volumes_changed([volume("v", to="default/c", driver="disk.example.com")])
    cluster.claims_changed([claim("c", volume="v")])
    assert cluster.pod("a", "c").needs.requests == ()
    cluster.csi_nodes_changed([csi_node("n1", disk_example_com=3)])
    assert cluster.affected() == {"a"}
    assert cluster.requests("a") == {RESOURCE: 1}


def test_who_waits_for_the_only_place_is_told_when_it_is_free(cluster):
    cluster.claims_changed([claim("c", volume="v", modes=("ReadWriteOncePod",))])
    cluster.volumes_changed([volume("v", to="default/c")])
    assert cluster.pod("a", "c", place="n1").refused == ""
    assert cluster.pod("b", "c") == TAKEN
    cluster.take_affected()
    cluster.move_pod("a", "")
    cluster.take_affected()
    assert cluster.resolution("b").refused == IN_USE, "whoever was first remains first"
    cluster.remove_pod("a")
    assert cluster.affected() == {"b"}
    assert cluster.resolution("b") == NOTHING


def test_who_has_been_placed_goes_before_whoever_is_first(cluster):
    cluster.claims_changed([claim("c", volume="v", modes=("ReadWriteOncePod",))])
    cluster.volumes_changed([volume("v", to="default/c")])
    cluster.pod("a", "c")
    cluster.pod("b", "c")
    cluster.take_affected()
    cluster.move_pod("b", "n1")
    assert cluster.affected() == {"a", "b"}
    assert (cluster.resolution("a").refused, cluster.resolution("b").refused) == (IN_USE, "")


def test_rank_decides_who_waits(cluster):
    cluster.claims_changed([claim("c", modes=("ReadWriteOncePod",))])
    assert cluster.pod("a", "c").refused == ""
    assert cluster.pod("b", "c", priority=1).refused == ""
    assert cluster.affected() == {"a"}
    assert cluster.resolution("a").refused == IN_USE


def test_of_two_that_were_chosen_at_once_one_is_refused(cluster):
    cluster.claims_changed([claim("c", volume="v", modes=("ReadWriteOncePod",))])
    cluster.volumes_changed([volume("v", to="default/c")])
    cluster.pod("a", "c")
    cluster.pod("b", "c", priority=1)
    cluster.move_pod("a", "n1")
    assert cluster.begin("a", "n1", 0.0) == ""
    cluster.move_pod("b", "n2")
    assert cluster.begin("b", "n2", 0.0) == IN_USE


def test_a_volume_that_is_not_there_is_waited_for(cluster):
    cluster.claims_changed([claim("c", volume="v"), claim("zonal", volume="w")])
    cluster.volumes_changed([volume("w", to="default/zonal", at=(ZONE, ["a"]))])
    assert cluster.pod("a", "zonal", "c").reason == 'persistentvolume "v" not found'
    assert not cluster.pod("runs", "c", place="n1").reason
    cluster.volumes_changed([volume("v", to="default/c")])
    assert "a" in cluster.affected()
    assert (cluster.resolution("a").reason, cluster.resolution("a").refused) == ("", "")


def test_that_of_an_ephemeral_claim_is_missed_on_each_node(cluster):
    cluster.claims_changed(
        [
            claim("a-data", volume="v", modes=("ReadWriteOncePod",), owner="a"),
            claim("zonal", volume="w"),
        ]
    )
    cluster.volumes_changed([volume("w", to="default/zonal", at=(ZONE, ["a"]))])
    claims = (PodClaim("default/a-data", ephemeral=True), PodClaim("default/zonal"))
    found = cluster.put_pod("a", "default/a", claims, compute_rank(0, 0.0, "a"), "")
    assert (found.reason, found.refused) == ("", NO_SUCH_VOLUME)
    assert [pb.VolumeRule.FromString(rule).reason for rule in found.needs.rules] == ["", NO_SUCH_VOLUME]
    cluster.pod("b", "a-data", place="n1")
    assert cluster.affected() >= {"a"}
    assert cluster.resolution("a") == TAKEN
    cluster.move_pod("a", "n1")
    cluster.take_affected()
    assert (cluster.resolution("a").refused, len(cluster.resolution("a").needs.rules)) == ("", 1)


def test_claims_in_one_zone_share_one_set_of_needs(cluster):
    for index in range(100):
        cluster.volumes_changed([volume(f"v{index}", to=f"default/c{index}", at=(ZONE, ["ab"[index % 2]]))])
        cluster.claims_changed([claim(f"c{index}", volume=f"v{index}")])
        cluster.pod(f"p{index}", f"c{index}")
    assert len({cluster.resolution(f"p{index}").needs for index in range(100)}) == 2
    assert len({id(cluster.resolution(f"p{index}")) for index in range(100)}) == 2


def test_a_namesake_outlives_the_late_end_of_an_earlier_claim(cluster):
    cluster.claims_changed([Change("old", claim("c").object)])
    [new] = [claim("c", storage_class="local")]
    cluster.claims_changed([Change("new", new.object), Change("old", None)])
    assert cluster.pod("p", "c").profiles


# --- binding ----------------------------------------------------------------------------------------------------


def test_a_dynamic_claim_gets_its_node_written(cluster):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    assert cluster.begin("p", "n1", 0.0) == ""
    [write] = cluster.bindings.take_writes()
    assert write == SelectNode("p", "default", "c", "c", "n1")
    path, body = patch_of(write)
    assert path == "/api/v1/namespaces/default/persistentvolumeclaims/c"
    assert body == (b'{"metadata":{"uid":"c","annotations":{"volume.kubernetes.io/selected-node":"n1"}}}')
    assert "p" in cluster.bindings
    cluster.move_pod("p", "n1")
    assert cluster.affected() == set(), "a pod whose claims are being bound stays as it is"
    cluster.volumes_changed([volume("v", to="default/c", at=(ZONE, ["a"]))])
    assert cluster.take_settled() == {}
    cluster.claims_changed([claim("c", volume="v")])
    assert cluster.take_settled() == {"p": ""}
    assert cluster.affected() == {"p"}


def test_claims_may_be_seen_before_their_volumes(cluster):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    cluster.begin("p", "n1", 0.0)
    cluster.claims_changed([claim("c", volume="v")])
    assert cluster.take_settled() == {}
    cluster.volumes_changed([volume("v", to="default/c", at=(ZONE, ["a"]))])
    assert cluster.take_settled() == {"p": ""}


def test_a_volume_out_of_reach_is_a_failure(cluster):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    cluster.begin("p", "n1", 0.0)
    cluster.volumes_changed([volume("v", to="default/c", at=(ZONE, ["b"]))])
    cluster.claims_changed([claim("c", volume="v")])
    assert cluster.take_settled() == {"p": 'persistentvolume "v" cannot be reached from node n1'}


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (lambda c: c.node_gone("n1"), "node n1 is gone"),
        (lambda c: c.bindings.expire(60.0), "volumes were not bound within 60 s: c"),
        (lambda c: c.claims_changed([Change("c", None)]), 'persistentvolumeclaim "c" not found'),
        (
            lambda c: c.claims_changed(
                [claim("c", annotations={"volume.kubernetes.io/selected-node": "n2"})]
            ),
            'persistentvolumeclaim "c" is being bound for node n2',
        ),
    ],
)
def test_what_ends_a_binding(cluster, event, reason):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    cluster.begin("p", "n1", 0.0)
    cluster.bindings.expire(59.0)
    assert cluster.take_settled() == {}
    event(cluster)
    assert cluster.take_settled() == {"p": reason}
    assert "p" not in cluster.bindings


def test_a_refused_write_ends_a_binding(cluster):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    cluster.begin("p", "n1", 0.0)
    [write] = cluster.bindings.take_writes()
    cluster.bindings.note_failure(write, "no")
    cluster.bindings.note_failure(write, "no, again")
    assert cluster.take_settled() == {"p": "no"}


def test_the_smallest_volume_that_fits_is_given_once(cluster):
    cluster.volumes_changed(
        [
            volume("large", storage_class="local", size="9Gi", at=(HOSTNAME, ["n1"])),
            volume("small", storage_class="local", size="2Gi", at=(HOSTNAME, ["n1"])),
            volume("tiny", storage_class="local", size="1Mi", at=(HOSTNAME, ["n1"])),
        ]
    )
    cluster.claims_changed([claim(name, storage_class="local") for name in ("c", "d", "e")])
    for uid, name in (("p", "c"), ("q", "d"), ("r", "e")):
        cluster.pod(uid, name)
    assert [cluster.begin(uid, "n1", 0.0) for uid in "pqr"] == ["", "", NONE_TO_BIND]
    writes = cluster.bindings.take_writes()
    assert [(write.claim, write.volume) for write in writes if isinstance(write, GiveVolume)] == [
        ("c", "small"),
        ("d", "large"),
    ]
    path, body = patch_of(writes[0])
    assert path == "/api/v1/persistentvolumes/small"
    assert b'"resourceVersion"' in body
    cluster.remove_pod("p")
    assert cluster.begin("r", "n1", 0.0) == ""


def test_those_whose_volume_would_do_for_a_smaller_claim_are_told_of_the_first_such_claim(cluster):
    cluster.volumes_changed([volume("v", storage_class="local", size="9Gi", at=(HOSTNAME, ["n1"]))])
    cluster.claims_changed(
        [claim("large", storage_class="local", size="5Gi"), claim("small", storage_class="local", size="1Gi")]
    )
    cluster.pod("p", "large")
    cluster.affected()
    before = cluster.requests("p")
    cluster.pod("q", "small")
    assert "p" in cluster.affected()
    assert len(cluster.requests("p")) == len(before) + 1
    cluster.pod("r", "small")
    assert "p" not in cluster.affected()


def test_a_pod_reserves_all_its_volumes_or_none(cluster):
    cluster.volumes_changed([volume("v", storage_class="local", at=(HOSTNAME, ["n1"]))])
    cluster.claims_changed([claim(name, storage_class="local") for name in ("c", "d", "e")])
    cluster.pod("p", "c", "d")
    cluster.pod("q", "e")
    assert cluster.begin("p", "n1", 0.0) == NONE_TO_BIND
    assert cluster.bindings.take_writes() == []
    assert cluster.begin("q", "n1", 0.0) == ""


def test_a_volume_that_is_gone_is_not_offered_any_more(cluster):
    cluster.volumes_changed([volume("v", storage_class="local", at=(HOSTNAME, ["n1"]))])
    cluster.claims_changed([claim("c", storage_class="local")])
    [profile] = cluster.pod("p", "c").profiles
    assert cluster.offers("n1") == {profile.resource: 1}
    cluster.volumes_changed([Change("v", None)])
    assert cluster.offers("n1") == {}
    assert cluster.begin("p", "n1", 0.0) == NONE_TO_BIND


def test_a_reserved_volume_counts_for_its_claim_until_that_is_bound(cluster):
    cluster.volumes_changed([volume("v", storage_class="local", at=(HOSTNAME, ["n1"]))])
    cluster.claims_changed([claim("c", storage_class="local")])
    [profile] = cluster.pod("p", "c").profiles
    assert cluster.offers("n1") == {profile.resource: 1}
    cluster.begin("p", "n1", 0.0)
    assert cluster.offers("n1") == {profile.resource: 1}
    cluster.volumes_changed([volume("v", to="default/c", storage_class="local", at=(HOSTNAME, ["n1"]))])
    assert cluster.offers("n1") == {profile.resource: 1}
    cluster.claims_changed([claim("c", storage_class="local", volume="v")])
    assert cluster.offers("n1") == {}
    assert cluster.take_settled() == {"p": ""}
    cluster.take_affected()
    assert cluster.requests("p") == {}


def test_pods_that_share_a_claim_end_on_one_node(cluster):
    cluster.claims_changed([claim("c")])
    cluster.pod("p", "c")
    cluster.pod("q", "c")
    cluster.pod("r", "c")
    assert cluster.begin("p", "n1", 0.0) == ""
    assert cluster.begin("q", "n1", 0.0) == ""
    assert cluster.begin("r", "n2", 0.0) == 'persistentvolumeclaim "c" is being bound for node n1'
