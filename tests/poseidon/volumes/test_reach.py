"""Which machines reach which groups of objects, against looking at every pair."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.volumes.reach import ANYWHERE, Reach
from tests.support.effort import examples


class Group:
    """A group that machines with one of some labels reach, but for those of some names."""

    def __init__(self, pairs: tuple[tuple[str, str], ...], refused: frozenset[str] = frozenset()) -> None:
        self.pairs = pairs
        self.refused = refused
        self.nodes: set[str] = set()

    def admits(self, name: str, labels: Mapping[str, str]) -> bool:
        return name not in self.refused

    def should_reach(self, name: str, labels: Mapping[str, str]) -> bool:
        """Look at the pair of machine and group."""
        has = ANYWHERE in self.pairs or any(labels.get(key) == value for key, value in self.pairs)
        return has and name not in self.refused


NAMES, LABELS = st.sampled_from("abc"), st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"))
PAIRS = st.lists(st.sampled_from([("x", "1"), ("x", "2"), ("y", "1"), ANYWHERE]), min_size=1, unique=True)
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, LABELS),
    st.tuples(st.just("remove"), NAMES, st.none()),
    st.tuples(st.just("add"), PAIRS, st.frozensets(NAMES, max_size=1)),
    st.tuples(st.just("drop"), st.integers(0, 3), st.none()),
)


@settings(max_examples=examples(150))
@given(st.lists(STEPS, max_size=20))
def test_whatever_comes_and_goes_each_pair_is_right(steps):
    reach: Reach[Group] = Reach()
    groups: list[Group] = []
    for what, first, second in steps:
        if what == "put":
            reach.put_node(first, second)
        elif what == "remove":
            reach.remove_node(first)
        elif what == "add":
            groups.append(Group(tuple(first), second))
            reach.add(groups[-1])
        elif first < len(groups):
            gone = groups.pop(first)
            reach.remove(gone)
            assert all(gone not in reach.list_groups(name) for name in "abc")
        for group in groups:
            assert group.nodes == {
                name for name, labels in reach.labels.items() if group.should_reach(name, labels)
            }
        for name in "abc":
            assert set(reach.list_groups(name)) == {group for group in groups if name in group.nodes}
        for pair in (("x", "1"), ("y", "1"), ("y", "")):
            key, value = pair
            having = {name for name, labels in reach.labels.items() if labels.get(key, "") == value}
            assert set(reach.having(pair)) == having
        assert set(reach.having(ANYWHERE)) == set(reach.labels)
