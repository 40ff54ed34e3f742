"""Which machines reach how much storage for new volumes, by storage class."""

from __future__ import annotations

from firmament.core.model import StorageRoom
from firmament.core.selectors.machine_contents import StorageIndex


def index(*rows: tuple[StorageRoom, ...]) -> StorageIndex:
    made = StorageIndex()
    for row, rooms in enumerate(rows):
        made.set(row, rooms)
    return made


def entries(made: StorageIndex, storage_class: str) -> list[tuple[int, int, int]] | None:
    """Row, largest volume and capacity of each machine with storage of a class."""
    found = made.get(storage_class)
    return None if found is None else list(zip(*(column.tolist() for column in found), strict=True))


def test_machines_are_listed_by_storage_class():
    made = index((StorageRoom("a", 10, 40), StorageRoom("b", 5, 0)), (), (StorageRoom("a", 20, 30),))
    assert entries(made, "a") == [(0, 10, 40), (2, 20, 30)]
    assert entries(made, "b") == [(0, 5, 0)]
    assert entries(made, "c") is None
    assert entries(index(), "a") is None


def test_rows_move_and_go():
    made = index((StorageRoom("a", 1, 0),), (StorageRoom("a", 2, 0),), (StorageRoom("a", 3, 0),))
    assert entries(made, "a") == [(0, 1, 0), (1, 2, 0), (2, 3, 0)]
    made.remove(2, 0)
    assert entries(made, "a") == [(0, 3, 0), (1, 2, 0)]
    made.set(0, ())
    assert entries(made, "a") == [(1, 2, 0)]
