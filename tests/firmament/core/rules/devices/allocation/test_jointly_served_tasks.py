"""Which tasks a machine's devices serve together: chosen anew if need be, counted exactly or from below."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.rules.devices.allocation.jointly_served_tasks import ServedState, StateTable
from firmament.core.rules.devices.allocation.search import ViewUse
from firmament.core.rules.devices.objects.requests import ClaimSpec, read_claim
from tests.firmament.core.rules.devices.allocation.test_search import CLASSES, Bench
from tests.support.devices import claim_spec, device, exactly, slice_spec


def special(value: str) -> str:
    return f'device.attributes["gpu.example.com"].kind == "{value}"'


def asks(*requests: dict[str, Any]) -> tuple[ClaimSpec, ...]:
    return (read_claim(claim_spec(*requests), CLASSES),)


ANY, SPECIAL, PLAIN = (
    asks(exactly("gpu")),
    asks(exactly("gpu", 1, special("X"))),
    asks(exactly("gpu", 1, special("Y"))),
)
EVERY = asks(exactly("gpu", 0))
"""All devices: what only a search can tell."""
PAIR = asks(exactly("gpu"), exactly("gpu", name="more"))


class Table:
    """One kind of machines with devices of these kinds, in their order."""

    def __init__(self, kinds: str) -> None:
        devices = [device(f"d{at}", attributes={"kind": kind}) for at, kind in enumerate(kinds)]
        self.bench = Bench([slice_spec("a", devices)])
        self.view = self.bench.see([*ANY, *SPECIAL, *PLAIN, *EVERY, *PAIR])
        self.table = StateTable(self.bench.selectors)
        self.empty = self.table.begin(self.view.kind, ViewUse())

    def add(self, *demands: tuple[ClaimSpec, ...]) -> ServedState | str:
        state: ServedState | str = self.empty
        for demand in demands:
            assert isinstance(state, ServedState)
            state = self.table.add(state, demand)
        return state


def devices_of(state: ServedState | str) -> list[list[int]]:
    """The numbers of the devices of each task, in the order in which the tasks came."""
    assert isinstance(state, ServedState)
    return [[pick.device for claim in task for pick in claim] for task in state.picks]


def test_devices_are_chosen_anew_for_one_that_the_rest_does_not_serve():
    made = Table("XY")
    assert devices_of(made.add(ANY)) == [[0]]
    assert devices_of(made.add(ANY, SPECIAL)) == [[1], [0]], "the first gives up its device"
    assert devices_of(Table("XY").add(SPECIAL, ANY)) == [[0], [1]]
    assert devices_of(made.add(ANY, PLAIN)) == [[0], [1]]


def test_each_task_gets_its_own_devices_back_in_the_order_of_the_tasks():
    made = Table("XYYX")
    found = made.add(ANY, PAIR, SPECIAL)
    chosen = devices_of(found)
    assert [len(each) for each in chosen] == [1, 2, 1]
    assert sorted(number for each in chosen for number in each) == [0, 1, 2, 3]
    assert chosen[2][0] in (0, 3)
    assert isinstance(found, ServedState)
    assert found.tasks == (ANY, PAIR, SPECIAL)


def test_who_is_not_served_is_told_nothing_if_devices_are_only_taken():
    made = Table("XY")
    assert made.add(SPECIAL, SPECIAL) == ""
    assert made.add(ANY, ANY, ANY) == ""
    broken = asks(exactly("gpu", 1, "device.nothing.here"))
    fault = made.add(broken)
    assert isinstance(fault, str)
    assert fault
    assert made.add(ANY, broken) == fault, "its own fault, whatever others have"


def test_the_order_of_tasks_makes_no_other_state():
    made = Table("XYX")
    assert made.add(ANY, SPECIAL) is made.add(SPECIAL, ANY)
    assert made.add(ANY, SPECIAL) is not made.add(ANY, ANY)
    assert made.table.begin(made.view.kind, ViewUse()) is made.empty
    other = Table("XYX")
    assert other.empty is not made.empty
    assert made.table.states[made.empty.number] is made.empty


@pytest.mark.parametrize(
    ("kinds", "before", "demand", "served", "one_by_one"),
    [
        ("XYX", (), ANY, 3, 3),
        ("XYX", (), SPECIAL, 2, 2),
        ("XYX", (), PAIR, 1, 1),
        ("XYXYX", (), PAIR, 2, 2),
        ("YY", (), SPECIAL, 0, 0),
        ("XYX", (), EVERY, 1, 1),
        ("XYX", (SPECIAL,), ANY, 2, None),
        ("XYX", (SPECIAL, PLAIN), ANY, 1, None),
        ("XYX", (ANY, ANY, ANY), ANY, 0, None),
    ],
)
def test_how_many_more_are_served(
    kinds: str,
    before: tuple[tuple[ClaimSpec, ...], ...],
    demand: tuple[ClaimSpec, ...],
    served: int,
    one_by_one: int | None,
):
    made = Table(kinds)
    state = made.add(*before)
    assert isinstance(state, ServedState)
    for _ in range(2):  # what is known is said again
        assert made.table.count_served(state.number, demand) == served
        if one_by_one is not None:
            assert made.table.count_served_one_by_one(state.number, demand) == one_by_one


def test_with_tasks_there_the_number_is_a_lower_bound_but_never_0_for_one_that_is_served():
    """With the plain device for the first task both special ones are left, and one of them certainly is."""
    made = Table("XYX")
    state = made.add(ANY)
    assert isinstance(state, ServedState)
    assert 1 <= made.table.count_served(state.number, SPECIAL) <= 2
    full = made.add(ANY, SPECIAL)
    assert isinstance(full, ServedState)
    assert made.table.count_served(full.number, SPECIAL) == 1
    assert made.table.count_served(full.number, PLAIN) == 1
    last = made.add(ANY, SPECIAL, SPECIAL)
    assert isinstance(last, ServedState)
    assert made.table.count_served(last.number, PLAIN) == 0
