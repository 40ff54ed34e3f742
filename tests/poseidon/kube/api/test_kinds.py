"""The table of kinds: whoever goes by it agrees with what is in the API, and nothing is missing."""

from __future__ import annotations

from poseidon.bridge.state import BridgeState
from poseidon.kube.api import collections, kinds
from poseidon.kube.api.resource import Resource


def test_every_collection_of_a_kind_is_in_the_table():
    """Those that hold single ConfigMaps, and other readings of a collection that is there, are no kinds."""
    there = {kind.resource for kind in kinds.FOLLOWED}
    stated = {each for each in vars(collections).values() if isinstance(each, Resource)}
    assert stated - there == {
        collections.CONFIG_MAPS,
        collections.NODE_TOPOLOGIES_ALPHA1,
        collections.QUEUED_JOBS,
    }
    assert set(collections.SCALED_OWNERS.values()) <= there


def test_kinds_are_told_apart_by_group_and_name():
    assert len(kinds.BY_NAME) == len(kinds.KINDS)
    assert kinds.BY_NAME["scheduling.volcano.sh", "PodGroup"] is kinds.VOLCANO_POD_GROUP
    assert (kinds.CLAIM.group, kinds.CLAIM.plural) == ("", "persistentvolumeclaims")
    assert (kinds.BUDGET.group, kinds.BUDGET.plural) == ("policy", "poddisruptionbudgets")


def test_whatever_is_known_before_pods_is_taken():
    assert BridgeState().handlers.keys() == {*kinds.BEFORE_PODS, kinds.POD}
