"""The six orders: the proposal's table, and what every order promises on any graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.app_network.spec.ordering import (
    ALGORITHMS,
    CycleError,
    alternate,
    find_cycle,
    kahn_sort,
    tarjan_sort,
)
from tests.poseidon.app_network.boutique import FOR_TARJAN, NUMBERED, ORDERS, graph


@pytest.mark.parametrize("algorithm", ORDERS)
def test_the_proposals_table(algorithm):
    assert " ".join(ALGORITHMS[algorithm](graph())) == ORDERS[algorithm]


@pytest.mark.parametrize("algorithm", ["KahnSort", "AlternateKahn", "ReverseKahn"])
@pytest.mark.parametrize("declared", [NUMBERED, NUMBERED[::-1], FOR_TARJAN])
def test_kahns_rows_hold_however_the_workloads_are_declared(algorithm, declared):
    assert " ".join(ALGORITHMS[algorithm](graph(declared))) == ORDERS[algorithm]


def test_tarjan_visits_roots_as_declared():
    assert " ".join(tarjan_sort(graph(NUMBERED))) == "P1 P10 P9 P8 P7 P5 P6 P4 P3 P2 P11"


def test_of_several_sources_the_last_declared_comes_first():
    assert kahn_sort({"a": (), "b": (), "c": ("a",)}) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("order", "expected"), [("", ""), ("a", "a"), ("ab", "ab"), ("abc", "acb"), ("abcdef", "afbecd")]
)
def test_alternation(order, expected):
    assert "".join(alternate(order)) == expected


@st.composite
def graphs(draw, *, cyclic=False):
    """Graphs whose names say nothing of their order; without ``cyclic`` edges lead to later ranks only."""
    names = draw(st.permutations([f"w{index}" for index in range(draw(st.integers(0, 12)))]))
    rank = {name: index for index, name in enumerate(names)}
    found = {}
    for name in draw(st.permutations(names)):
        others = names if cyclic else names[rank[name] + 1 :]
        found[name] = tuple(draw(st.lists(st.sampled_from(others), max_size=5))) if others else ()
    return found


@given(graphs())
def test_each_order_is_what_its_name_says(found):
    for family, plain in (("Kahn", "KahnSort"), ("Tarjan", "TarjanSort")):
        order = ALGORITHMS[plain](found)
        assert sorted(order) == sorted(found)
        assert all(order.index(name) < order.index(child) for name in found for child in found[name])
        backwards = ALGORITHMS[f"Reverse{family}"](found)
        assert all(backwards.index(child) < backwards.index(name) for name in found for child in found[name])
        alternate = ALGORITHMS[f"Alternate{family}"](found)
        assert alternate[::2] == order[: len(alternate[::2])]
        assert alternate[1::2] == backwards[: len(alternate[1::2])]


@given(graphs(cyclic=True))
def test_a_circle_is_found_exactly_if_there_is_one(found):
    cycle = find_cycle(found)
    if cycle:
        assert all(after in found[name] for name, after in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        for sort in (kahn_sort, tarjan_sort):
            with pytest.raises(CycleError):
                sort(found)
    else:
        assert sorted(kahn_sort(found)) == sorted(found)


def test_long_chains_do_not_exhaust_the_stack():
    chain = {f"w{index}": (f"w{index + 1}",) for index in range(20_000)} | {"w20000": ()}
    assert tarjan_sort(chain) == kahn_sort(chain) == list(chain)
