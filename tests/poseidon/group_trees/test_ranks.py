"""Ranks: against an oracle that walks a graph, and single cases."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.group_trees.status.placement import (
    choose_master,
    compute_distance,
    group_by_unit,
    natural,
    placement_text,
    pods_of,
    rank_text,
    ranks,
)

units = st.integers(0, 2)
paths = st.tuples(units, units, units).map(
    lambda at: (f"row-{at[0]}", f"rack-{at[1]}", f"{at[0]}{at[1]}-n{at[2]}")
)
placements = st.lists(paths, max_size=9).map(
    lambda at: {f"pod-{index}": path for index, path in enumerate(at)}
)


def graph(placed):
    found: nx.Graph[object] = nx.Graph()
    for name, path in placed.items():
        units = [path[:depth] for depth in range(len(path) + 1)]
        nx.add_path(found, [*units, name])
    return found


def edges(tree, one, other):
    return nx.shortest_path_length(tree, one, other) if one != other else 2


@given(placements, st.integers(0, 8), st.data())
def test_ranks_count_up_with_the_distance_from_the_master(placed, chosen, data):
    if placed and data.draw(st.booleans()):
        name = list(placed)[chosen % len(placed)]
        placed = {**placed, f"{name}-master": placed[name]}
        del placed[name]
    found = ranks(placed, {})
    assert sorted(found.values()) == list(range(len(placed)))
    assert list(found) == sorted(found, key=found.__getitem__)
    if not placed:
        return
    masters = [name for name in placed if "master" in name]
    centre = min(masters or placed, key=lambda name: int(name.split("-")[1]))
    assert found[centre] == 0
    tree = graph(placed)
    steps = [edges(tree, centre, name) for name in found if name != centre]
    assert steps == sorted(steps)
    on_nodes = [placed[name] for name in found]
    changes = sum(a != b for a, b in pairwise(on_nodes))
    assert changes == len(set(on_nodes)) - 1, "pods of a node have consecutive ranks"
    for path in set(on_nodes):
        own = [int(name.split("-")[1]) for name in found if placed[name] == path and name != centre]
        assert own == sorted(own), "on a node ranks follow indices"


@given(placements, st.dictionaries(st.integers(0, 9).map("pod-{}".format), st.integers(-1, 10)))
def test_ranks_that_pods_have_stay(placed, kept):
    found = ranks(placed, kept)
    assert sorted(found.values()) == list(range(len(placed)))
    valid = {name: rank for name, rank in kept.items() if name in placed and 0 <= rank < len(placed)}
    for name, rank in valid.items():
        if list(valid.values()).count(rank) == 1:
            assert found[name] == rank


def test_a_replacement_gets_the_rank_that_is_free():
    placed = {f"p-{index}": ("r", "n") for index in range(4)}
    first = ranks(placed, {})
    del placed["p-1"]
    placed["p-9"] = ("s", "m")
    assert ranks(placed, first) == {"p-0": 0, "p-9": 1, "p-2": 2, "p-3": 3}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("r", "n"), ("r", "n"), 2),
        (("r", "n"), ("r", "m"), 4),
        (("r", "n"), ("s", "m"), 6),
        (("n",), ("m",), 4),
    ],
)
def test_distance_is_in_edges(one, other, expected):
    assert compute_distance(one, other) == compute_distance(other, one) == expected


def test_names_are_ordered_as_people_do():
    assert sorted(["p-10", "p-9", "p", "p-1-2", "p-1"], key=natural) == [
        "p",
        "p-1",
        "p-1-2",
        "p-9",
        "p-10",
    ]


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["w-10", "w-9"], "w-9"),
        (["w-0", "job-master-10", "job-master-2"], "job-master-2"),
        (["w-1"], "w-1"),
    ],
)
def test_the_master_or_the_lowest_index_has_rank_0(names, first):
    assert choose_master(names) == first
    assert ranks(dict.fromkeys(names, ("r", "n")), {})[first] == 0


def test_placement_and_ranks_as_text():
    placed = {"p-10": ("r1", "b"), "p-2": ("r0", "a"), "p-1": ("r1", "b")}
    assert group_by_unit(placed) == {"r0": {"a": ("p-2",)}, "r1": {"b": ("p-1", "p-10")}}
    assert pods_of(group_by_unit(placed)) == {"a": ("p-2",), "b": ("p-1", "p-10")}
    assert placement_text(placed) == '{"root":{"r0":{"a":{"p-2":{}}},"r1":{"b":{"p-1":{},"p-10":{}}}}}'
    assert rank_text({"p-2": 1, "p-1": 0}) == "[(p-1,0) (p-2,1)]"
    assert group_by_unit({"p-9": ("n",), "p-10": ("n",)}) == {"n": ("p-9", "p-10")}
    assert group_by_unit({}) == {}
    assert rank_text({}) == "[]"
