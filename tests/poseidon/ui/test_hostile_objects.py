"""Whatever tenants and nodes write, every view is made and can be written; see ``tests.programs.hostile``."""

from __future__ import annotations

import json
import os
from functools import partial
from random import Random, SystemRandom

import msgspec

from poseidon.explanations import Verdict
from poseidon.kube.api import collections
from poseidon.kube.api.collections import NODE_METRICS
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine
from poseidon.pod_groups.group_names import NATIVE_POD_GROUP, POD_GROUP, WORKLOAD
from poseidon.ui.cluster.records import BOUND
from poseidon.ui.sources.measured import MeasuredUse
from poseidon.ui.sources.watched_objects import zones_taker
from poseidon.ui.views.cluster import show_cluster
from poseidon.ui.views.groups.all_groups import show_groups
from poseidon.ui.views.nodes import show_node
from poseidon.ui.views.overview import show_overview
from poseidon.ui.views.pending import show_pending
from poseidon.ui.views.pods import PodQuery, show_pod, show_pods
from tests.poseidon.ui.objects import NOW, Wall, known, make_node, store
from tests.poseidon.ui.test_flow import one_flow
from tests.programs.hostile.objects import Mallory
from tests.support.effort import examples

OBJECTS = examples(1_500)
SEED = SystemRandom().randrange(2**32) if "EXPLORE" in os.environ else 1


def followed(found):
    """Return what takes each kind, as in a live source."""
    both = found.groups

    def nodes(changes):
        found.store.nodes_changed(changes)
        both.nodes_changed(changes)

    return {
        Node: nodes,
        Pod: found.store.pods_changed,
        collections.POD_GROUPS.kind: partial(both.groups_changed, POD_GROUP),
        collections.WORKLOADS.kind: partial(both.groups_changed, WORKLOAD),
        collections.NATIVE_POD_GROUPS.kind: partial(both.groups_changed, NATIVE_POD_GROUP),
        collections.GROUP_MAPS.kind: lambda changes: (
            both.group_config_maps_changed(changes),
            both.tree_maps_changed(changes),
        ),
        collections.APP_GROUPS.kind: both.app_groups_changed,
        collections.NETWORK_TOPOLOGIES.kind: both.topologies_changed,
        collections.NODE_TOPOLOGIES.kind: zones_taker(found),
        NODE_METRICS.kind: MeasuredUse(found.store, Wall()).node_metrics_changed,
    }


def written(value) -> None:
    """See to it that a value can be written, and read by whoever knows no more than JSON."""
    json.loads(msgspec.json.encode(value))


def every_view(found) -> None:
    kept = found.store
    written(show_overview(found))
    written(show_groups(found))
    written(show_pods(kept, PodQuery(), 0, 10_000))
    for by in ("reason", "class"):
        written(show_pending(kept, by, 0, 200, NOW))
    for level in kept.groupings()[:3]:
        written(show_cluster(kept, level))
    for name in list(kept.nodes):
        written(show_node(found, name, 0, 200))
    refused = Verdict(False, ("Insufficient cpu",), 0.0, {}, lacks_only_room=True)
    said = dict.fromkeys(kept.nodes, refused)
    for each in [*kept.pods.values(), *kept.gone.values()]:
        written(show_pod(found, each, said, None))


def test_every_view_is_made_of_whatever_there_is():
    random = Random(SEED)
    mallory, quarantine = Mallory(random), Quarantine()
    found = known(store(*(make_node(f"mallory-node-{number}") for number in range(2)), live=True))
    found.rounds.put_flow(one_flow())
    handlers = followed(found)
    kinds = [*handlers, Pod, Pod, Pod]
    uids: dict[type, list[str]] = {kind: [] for kind in handlers}
    for number in range(OBJECTS):
        kind = random.choice(kinds)
        again = random.choice(uids[kind]) if uids[kind] and random.random() < 0.3 else ""
        uid, raw = mallory.raw(kind, uid=again)
        change = Change(again, None) if again and random.random() < 0.3 else None
        if change is None:
            try:
                change = Change(uid, decode_object(raw, kind))
            except MalformedObjectError:
                continue
            uids[kind].append(uid)
        quarantine.deliver(kind.__name__, handlers[kind], [change])
        assert not [*quarantine], f"seed {SEED}, object {number}"
        if number % 100 == 99:
            every_view(found)
            found.store.sample(NOW)
    for entry in found.store.nodes.values():
        on_it = {
            each.uid for each in found.store.pods.values() if each.phase == BOUND and each.node == entry.name
        }
        assert entry.pods == on_it
        sums: dict[str, int] = {}
        for uid in on_it:
            for resource, amount in found.store.pods[uid].requests.items():
                sums[resource] = sums.get(resource, 0) + amount
        assert entry.requested == sums
    assert found.store.bound == sum(each.phase == BOUND for each in found.store.pods.values())
