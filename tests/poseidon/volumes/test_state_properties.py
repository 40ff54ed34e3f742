"""Whatever happens, in whatever order: what holds in the end is what a new state would say of the end."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from poseidon.kube.api.pods import PodClaim
from poseidon.kube.api.resource import Change
from poseidon.volumes.claims import compute_rank
from poseidon.volumes.state import VolumeState
from tests.poseidon.volumes.objects import present
from tests.support import storage
from tests.support.effort import examples

NODES = ["n1", "n2"]
CLAIMS = ["c1", "c2"]
CLASSES = ["fast", "local", "now"]
VOLUMES = ["v1", "v2"]
PODS = ["p1", "p2", "p3"]
DRIVER = "disk.example.com"

claims = st.sampled_from(CLAIMS)
nodes = st.sampled_from(NODES)


class Storage(RuleBasedStateMachine):
    """An API server's storage objects and pods, and a state that follows them."""

    def __init__(self):
        super().__init__()
        self.state = VolumeState()
        self.serial = 0
        self.objects = {}
        self.labels = {}
        self.pods = {}
        self.told = {}
        self.offered = {}

    @initialize(limited=st.booleans(), alone=st.booleans())
    def begin(self, limited, alone):
        """Most that can happen needs all of these, which chance alone seldom brings together."""
        for name in CLASSES:
            self.change_class(name=name, there=True, zone="")
        for name in NODES:
            self.change_node(name=name, zone="a", there=True)
            self.change_limits(name=name, limit=2, there=limited)
        for name, given in zip(CLAIMS, ["v1", ""], strict=True):
            self.put_claim(name=name, storage_class="local", volume=given, node="", alone=alone, size="1Gi")
        for name, given in zip(VOLUMES, ["c1", ""], strict=True):
            self.put_volume(name=name, to=given, at=None, driver=DRIVER, size="2Gi")

    def _put(self, kind, name, value, take):
        known = self.objects.get((kind, name))
        self.serial += 1
        uid = known[0] if known is not None else f"{name}-{self.serial}"
        self.objects[kind, name] = (uid, value)
        take([present(value, uid)])

    def _remove(self, kind, name, take):
        known = self.objects.pop((kind, name), None)
        if known is not None:
            take([Change(known[0], None)])

    @rule(name=st.sampled_from(CLASSES), there=st.booleans(), zone=st.sampled_from(["", "a"]))
    def change_class(self, name, there, zone):
        provisioner = "kubernetes.io/no-provisioner" if name == "local" else DRIVER
        topologies = [(storage.ZONE, [zone])] if zone else ()
        value = storage.storage_class(
            name, provisioner=provisioner, waits=name != "now", topologies=topologies
        )
        if there:
            self._put("class", name, value, self.state.storage_classes_changed)
        else:
            self._remove("class", name, self.state.storage_classes_changed)

    @rule(
        name=claims,
        storage_class=st.sampled_from(CLASSES),
        volume=st.sampled_from(["", *VOLUMES]),
        node=st.sampled_from(["", "n1"]),
        alone=st.booleans(),
        size=st.sampled_from(["1Gi", "2Gi"]),
    )
    def put_claim(self, name, storage_class, volume, node, alone, size):
        modes = ("ReadWriteOncePod",) if alone else ("ReadWriteOnce",)
        notes = {"volume.kubernetes.io/selected-node": node} if node else {}
        value = storage.claim(
            name, storage_class=storage_class, volume=volume, modes=modes, annotations=notes, size=size
        )
        self._put("claim", name, value, self.state.claims_changed)

    @rule(name=claims)
    def remove_claim(self, name):
        self._remove("claim", name, self.state.claims_changed)

    @rule(
        name=st.sampled_from(VOLUMES),
        to=st.sampled_from(["", *CLAIMS]),
        at=st.sampled_from(
            [None, (storage.ZONE, ["a"]), (storage.HOSTNAME, ["n1"]), (storage.HOSTNAME, ["n2"])]
        ),
        driver=st.sampled_from(["", DRIVER]),
        size=st.sampled_from(["1Gi", "2Gi"]),
    )
    def put_volume(self, name, to, at, driver, size):
        value = storage.volume(
            name,
            to=to and f"default/{to}",
            at=at,
            driver=driver,
            size=size,
            storage_class="local",
            modes=("ReadWriteOnce", "ReadWriteOncePod"),
        )
        self._put("volume", name, value, self.state.volumes_changed)

    @rule(name=st.sampled_from(VOLUMES))
    def remove_volume(self, name):
        self._remove("volume", name, self.state.volumes_changed)

    @rule(name=nodes, limit=st.sampled_from([None, 0, 2]), there=st.booleans())
    def change_limits(self, name, limit, there):
        if there:
            value = storage.csi_node(name, disk_example_com=limit)
            self._put("csi", name, value, self.state.csi_nodes_changed)
        else:
            self._remove("csi", name, self.state.csi_nodes_changed)

    @rule(name=nodes, zone=st.sampled_from(["a", "b"]), there=st.booleans())
    def change_node(self, name, zone, there):
        if there:
            self.labels[name] = {storage.HOSTNAME: name, storage.ZONE: zone}
            self.state.node_changed(name, self.labels[name])
        elif self.labels.pop(name, None) is not None:
            self.state.node_gone(name)

    @rule(
        uid=st.sampled_from(PODS),
        used=st.sets(claims, min_size=1, max_size=2),
        priority=st.integers(0, 1),
        place=st.sampled_from(["", *NODES]),
    )
    def put_pod(self, uid, used, priority, place):
        kept = self.pods.get(uid, (tuple(PodClaim(f"default/{name}") for name in sorted(used)),))[0]
        self.pods[uid] = (kept, compute_rank(priority, 0.0, uid), place)
        self.told[uid] = self.state.put_pod(uid, f"default/{uid}", *self.pods[uid])

    @rule(uid=st.sampled_from(PODS), place=st.sampled_from(["", *NODES]))
    def move_pod(self, uid, place):
        if uid in self.pods:
            self.pods[uid] = (*self.pods[uid][:2], place)
        self.state.move_pod(uid, place)

    @rule(uid=st.sampled_from(PODS))
    def remove_pod(self, uid):
        self.pods.pop(uid, None)
        self.told.pop(uid, None)
        self.state.remove_pod(uid)

    @rule()
    def listen(self):
        """What changes later could make good what was missed now."""
        self.told.update(self.state.take_affected())
        self.offered.update(self.state.take_offers())
        fresh = self._fresh()
        assert self.told == {uid: fresh.resolution(uid) for uid in self.pods}
        wanted = {profile.resource for uid in self.pods for profile in fresh.resolution(uid).profiles}
        for name in self.labels:
            assert _relevant(self.offered[name], wanted) == _relevant(fresh.offers(name), wanted)

    def teardown(self):
        self.listen()

    def _fresh(self):
        """Return a state that has only ever seen what there is now, in another order."""
        state = VolumeState()
        for uid, (used, rank, place) in sorted(self.pods.items(), reverse=True):
            state.put_pod(uid, f"default/{uid}", used, rank, place)
        takes: dict[str, Any] = {
            "claim": state.claims_changed,
            "volume": state.volumes_changed,
            "class": state.storage_classes_changed,
            "csi": state.csi_nodes_changed,
        }
        for (kind, _), (uid, value) in sorted(self.objects.items(), key=str):
            takes[kind]([present(value, uid)])
        for name, labels in self.labels.items():
            state.node_changed(name, labels)
        state.take_affected()
        return state


def _relevant(offers, wanted):
    return {
        name: amount for name, amount in offers.items() if name.startswith("attachable") or name in wanted
    }


TestStorage = Storage.TestCase
TestStorage.settings = settings(max_examples=examples(250), stateful_step_count=30)
