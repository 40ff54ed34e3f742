"""Thousands of draws are looked at as arrays, with the results of looking at them one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.constraints.quota_terms import Draw, DrawEntries, DrawGroup

NODES, FLAVORS, RESOURCES = 3, 3, 2


@st.composite
def groups(draw: st.DrawFn) -> DrawGroup:
    flavors = draw(st.lists(st.integers(0, FLAVORS - 1), unique=True, min_size=1, max_size=FLAVORS))
    amounts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=RESOURCES))
    columns = [[flavor * RESOURCES + resource for resource in range(len(amounts))] for flavor in flavors]
    return DrawGroup(tuple(flavors), tuple(map(tuple, columns)), tuple(amounts))


draws = st.lists(
    st.builds(
        Draw,
        st.integers(-1, NODES - 1),
        st.lists(groups(), max_size=2).map(tuple),
        st.sampled_from(["", "", "", "no such queue"]),
    ),
    min_size=1,
    max_size=6,
)
available = st.lists(
    st.lists(st.integers(-1, 4), min_size=FLAVORS * RESOURCES, max_size=FLAVORS * RESOURCES),
    min_size=NODES,
    max_size=NODES,
)


def serves(left: list[list[int]], draw: Draw, group: DrawGroup, place: int) -> bool:
    return all(
        left[draw.node][column] >= amount
        for column, amount in zip(group.columns[place], group.amounts, strict=True)
    )


@given(draws, available)
def test_a_draw_is_open_if_each_group_has_a_flavor_with_enough_of_everything(
    known: list[Draw], left: list[list[int]]
):
    expected = [
        draw.node >= 0
        and not draw.refused
        and all(
            any(serves(left, draw, group, place) for place in range(len(group.flavors)))
            for group in draw.groups
        )
        for draw in known
    ]
    assert DrawEntries.from_draws(known).find_open(np.array(left)).tolist() == expected


@given(draws, st.data())
def test_amounts_are_listed_in_order_if_each_group_has_one_flavor_that_covers_the_machines(
    known: list[Draw], data: st.DataObject
):
    taken = data.draw(
        st.lists(st.tuples(st.integers(0, len(known) - 1), st.integers(1, 3)), min_size=1, max_size=5)
    )
    covered = [data.draw(st.lists(st.booleans(), min_size=FLAVORS, max_size=FLAVORS)) for _ in taken]
    expected: list[tuple[int, int, int]] | None = []
    for (number, count), flavors in zip(taken, covered, strict=True):
        draw = known[number]
        plain = all(len(group.flavors) == 1 and flavors[group.flavors[0]] for group in draw.groups)
        if expected is None or draw.node < 0 or draw.refused or not plain:
            expected = None
            break
        for group in draw.groups:
            expected += [
                (draw.node, column, amount * count)
                for column, amount in zip(group.columns[0], group.amounts, strict=True)
            ]
    numbers, counts = np.array(taken).T
    found = DrawEntries.from_draws(known).list_amounts(numbers, np.array(covered), counts)
    assert (None if found is None else list(zip(*(each.tolist() for each in found), strict=True))) == expected
