"""What machines reach of what drivers say they can make, against looking at every pair of machine and object."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_rules import LabelSelector, LabelSelectorRequirement
from poseidon.kube.api.storage import CsiStorageCapacity
from poseidon.volumes.storage_capacity import StorageCapacities

GIB = 2**30
LABELS = st.fixed_dictionaries({}, optional={"zone": st.sampled_from("ab"), "host": st.sampled_from("12")})
QUANTITY = st.sampled_from([None, "1Gi", "2Gi", "nonsense", "0"])
SIZES = {None: None, "1Gi": GIB, "2Gi": 2 * GIB, "nonsense": None, "0": 0}


@st.composite
def selectors(draw):
    if draw(st.integers(0, 9)) == 0:
        return None
    expressions = draw(
        st.lists(st.tuples(st.sampled_from(["zone", "host"]), st.sampled_from(["In", "NotIn"])), max_size=1)
    )
    return LabelSelector(
        match_labels=draw(LABELS),
        match_expressions=tuple(
            LabelSelectorRequirement(key=key, operator=operator, values=("a", "1"))
            for key, operator in expressions
        ),
    )


CAPACITIES = st.builds(
    CsiStorageCapacity,
    metadata=st.just(ObjectMeta(name="c")),
    node_topology=selectors(),
    storage_class_name=st.sampled_from(["fast", "slow"]),
    capacity=QUANTITY,
    maximum_volume_size=QUANTITY,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from("nmo"), st.none() | LABELS),
        st.tuples(st.just("capacity"), st.sampled_from("1234"), st.none() | CAPACITIES),
    ),
    max_size=25,
)


def selects(selector, labels):
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return equal and all(
        (labels.get(each.key) in each.values) == (each.operator == "In")
        for each in selector.match_expressions
    )


def limit(found):
    """The largest volume that an object allows, None if it says nothing."""
    return SIZES[
        found.maximum_volume_size if SIZES[found.maximum_volume_size] is not None else found.capacity
    ]


def reached(labels, capacities):
    """By storage class: the largest volume, and the largest capacity."""
    found: dict[str, tuple[int, int]] = {}
    for each in capacities.values():
        if selects(each.node_topology, labels) and limit(each) is not None:
            largest, most = found.get(each.storage_class_name, (0, 0))
            found[each.storage_class_name] = (
                max(largest, limit(each)),
                max(most, SIZES[each.capacity] or 0),
            )
    return found


def told(books, name, *, scored):
    return {
        each.storage_class: (each.largest, each.capacity if scored else None) for each in books.rooms(name)
    }


@given(steps=STEPS, scored=st.booleans())
def test_machines_reach_what_selects_them_and_every_change_is_told(steps, scored):
    books = StorageCapacities(scored=scored)
    nodes: dict[str, dict[str, str]] = {}
    capacities: dict[str, CsiStorageCapacity] = {}
    before: dict[str, dict[str, tuple[int, int | None]]] = {}
    for kind, name, value in steps:
        if kind == "node" and value is None:
            nodes.pop(name, None)
            before.pop(name, None)
            books.remove_node(name)
            changed = set()
        elif kind == "node":
            nodes[name] = value
            changed = {name} if books.put_node(name, value) else set()
        else:
            capacities.pop(name, None)
            if value is not None:
                capacities[name] = value
            changed = books.put(name, value)
        for node, labels in nodes.items():
            wanted = {
                each: (largest, most if scored else None)
                for each, (largest, most) in reached(labels, capacities).items()
            }
            assert told(books, node, scored=scored) == wanted
            assert node in changed or before.get(node, {}) == wanted
            before[node] = wanted


def test_what_no_class_can_be_called_counts_for_nothing():
    books = StorageCapacities(scored=True)
    books.put_node("n", {"zone": "a"})
    everywhere = LabelSelector()
    for name in ("c" * 253, "c" * 254):
        books.put(name, CsiStorageCapacity(node_topology=everywhere, storage_class_name=name, capacity="1Gi"))
    assert [len(each.storage_class) for each in books.rooms("n")] == [253]
