"""Topologies of Kueue: the levels that its API takes, and where in them a node is."""

from __future__ import annotations

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.kueue_topology import (
    MOST_LEVELS,
    KueueTopology,
    TopologyLevels,
    get_levels,
    iterate_faults,
)


def topology(*labels: str) -> KueueTopology:
    levels = [{"nodeLabel": label} for label in labels]
    return convert_object({"metadata": {"name": "racks"}, "spec": {"levels": levels}}, KueueTopology)


@pytest.mark.parametrize(
    ("labels", "faults"),
    [
        (["block"], []),
        ([f"level-{number}" for number in range(MOST_LEVELS)], []),
        ([], [f"spec.levels: has 0 entries; give 1 to {MOST_LEVELS}"]),
        (
            [f"level-{number}" for number in range(MOST_LEVELS + 1)],
            [f"spec.levels: has {MOST_LEVELS + 1} entries; give 1 to {MOST_LEVELS}"],
        ),
        (["rack", "host", "rack"], ["spec.levels[2].nodeLabel: 'rack' is there twice; remove it"]),
        (["rack", "-"], ["spec.levels[1].nodeLabel: '-' is not a label key"]),
    ],
)
def test_which_levels_make_no_sense(labels, faults):
    found = list(iterate_faults(topology(*labels)))
    assert len(found) == len(faults)
    assert all(one.startswith(other) for one, other in zip(found, faults, strict=True))


def test_a_domain_is_told_from_its_namesake_by_the_way_there():
    levels = get_levels(topology("block", "rack"))
    assert levels == TopologyLevels("racks", ("block", "rack"))
    assert levels.locate({"block": "a", "rack": "1", "other": "x"}) == {
        "Topology racks": "racks",
        "block of Topology racks": "a",
        "rack of Topology racks": "a/1",
    }
    assert levels.locate({"block": "a"}) == {}, "a node without all labels is not in it"
