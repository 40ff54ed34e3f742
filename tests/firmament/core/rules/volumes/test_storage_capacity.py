"""Room for new volumes on machines, with kube-scheduler's StorageCapacityScoring worked out by hand."""

from __future__ import annotations

import pytest

from firmament.core.events import ClassDefined, MachineUpserted, TasksSubmitted
from firmament.core.model import Machine, NewStorage, StorageRoom, TaskClass
from firmament.core.rules.volumes.storage_capacity import find_without_storage, score_unused_storage
from firmament.core.selectors.machine_contents import StorageIndex
from tests.support.core import scheduler

GIB = 2**30


def room(storage_class: str, largest: int, capacity: int = 0) -> StorageRoom:
    return StorageRoom(storage_class, largest * GIB, capacity * GIB)


def wanted(storage_class: str, largest: int, total: int = 0) -> NewStorage:
    return NewStorage(storage_class, largest * GIB, (total or largest) * GIB)


def index(*rows: tuple[StorageRoom, ...]) -> StorageIndex:
    made = StorageIndex()
    for row, rooms in enumerate(rows):
        made.set(row, rooms)
    return made


def test_the_largest_volume_of_every_class_has_to_fit():
    made = index((room("a", 10), room("b", 5)), (room("a", 10),), ())
    assert find_without_storage(made, [wanted("a", 10)], 3).tolist() == [False, False, True]
    assert find_without_storage(made, [wanted("a", 11)], 3).tolist() == [True, True, True]
    assert find_without_storage(made, [wanted("a", 10), wanted("b", 5)], 3).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        (100, 90),  # 10 of 100 in use
        (30, 67),  # 33 of 100, rounded down
        (10, 0),
        (5, 0),  # more than there is
    ],
)
def test_what_stays_unused_is_scored(capacity: int, expected: int):
    scores = score_unused_storage(index((room("a", 100, capacity),), ()), [wanted("a", 10)], 2)
    assert scores is not None
    assert scores.tolist() == [expected, 0]


def test_storage_classes_count_alike_and_those_without_a_capacity_do_not():
    made = index((room("a", 100, 100), room("b", 100, 20)), (room("a", 100, 100), room("b", 100)))
    scores = score_unused_storage(made, [wanted("a", 10, 20), wanted("b", 10)], 2)
    assert scores is not None
    assert scores.tolist() == [65, 80]  # (80 + 50) / 2
    assert score_unused_storage(index((room("a", 100),)), [wanted("a", 10)], 1) is None


def test_rows_move_and_go():
    made = index((room("a", 1),), (room("a", 2),), (room("a", 3),))
    made.remove(2, 0)
    assert find_without_storage(made, [wanted("a", 3)], 2).tolist() == [False, True]
    made.set(0, ())
    assert find_without_storage(made, [wanted("a", 1)], 2).tolist() == [True, False]


def test_tasks_wait_until_there_is_room():
    def machine(largest: int) -> MachineUpserted:
        return MachineUpserted(Machine("m", {"cpu": 4, "pods": 9}, storage=(room("a", largest),)))

    described = ClassDefined(1, TaskClass(requests=(("cpu", 1),), new_storage=(wanted("a", 5),)))
    made = scheduler([machine(4)], [described, TasksSubmitted(1, ("t",))])
    assert made.run_round().deltas == ()
    assert made.next_round_in() != 0.0
    made.apply([machine(5)])
    assert made.next_round_in() == 0.0
    assert [(each.uid, each.machine) for each in made.run_round().deltas] == [("t", "m")]
