"""Rows of requests, whenever and in whatever order they are asked for."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import TaskClass
from firmament.core.resources import ResourceIndex, ShapeRequests

AMOUNTS = st.dictionaries(
    st.sampled_from(["pods", "cpu", "memory", "a", "b", "c", "d"]), st.integers(0, 2**60)
)
STEPS = st.lists(
    st.lists(st.integers(0, 9), max_size=8) | st.integers(0, 9) | st.sampled_from(["forget", *"abcd"]),
    max_size=8,
)


def shape(amounts: Mapping[str, int]) -> TaskClass:
    return TaskClass(requests=tuple(amounts.items()))


@given(st.lists(AMOUNTS, min_size=10, max_size=200), STEPS)
def test_rows_hold_what_shapes_request(amounts, steps):
    resources, shapes = ResourceIndex(), [shape(each) for each in amounts]
    requests, offered = ShapeRequests(resources, shapes), set[str]()
    for step in steps:
        if step == "forget":
            shapes.reverse()
            requests.forget()
            continue
        if isinstance(step, str):  # offered from now on, or no more
            (resources.remove_machine if step in offered else resources.add_machine)([step])
            offered ^= {step}
            if len(offered) == 1:
                resources.compact()
            continue
        asked = [step] if isinstance(step, int) else step
        found = requests.rows(asked)[0] if isinstance(step, list) else [requests.get(step)[0]]
        for number, row in zip(asked, found, strict=True):
            wanted = dict(shapes[number].requests)
            assert [wanted.pop(name, 0) for name in resources.names] == [
                *row.tolist(),
                *[0] * (len(resources) - len(row)),
            ]
            assert offered.isdisjoint(wanted)


def test_shapes_that_come_later_get_rows_too():
    resources, shapes = ResourceIndex(), [shape({"cpu": 1})]
    resources.add_machine(["device"])
    requests = ShapeRequests(resources, shapes)
    assert requests.rows([0])[0].tolist() == [[0, 1, 0, 0, 0]]
    shapes += [shape({"device": number}) for number in range(1, 100)]
    assert requests.rows([99, 0])[0].tolist() == [[0, 0, 0, 0, 99], [0, 1, 0, 0, 0]]


def test_amounts_are_there_from_when_a_machine_offers_the_resource():
    resources, shapes = ResourceIndex(), [shape({"cpu": 1}), shape({"b": 3})]
    requests = ShapeRequests(resources, shapes)
    assert requests.rows([1])[0].tolist() == [[0, 0, 0, 0]]
    resources.add_machine(["a", "b"])
    assert requests.rows([0])[0].tolist() == [[0, 1, 0, 0, 0, 0]]
    assert requests.rows([1, 0])[0].tolist() == [[0, 0, 0, 0, 0, 3], [0, 1, 0, 0, 0, 0]]


def test_what_is_returned_may_be_changed():
    requests = ShapeRequests(ResourceIndex(), [shape({"cpu": 1})])
    requests.rows([0])[0][:] = 7
    assert requests.rows([0])[0].tolist() == [[0, 1, 0, 0]]
