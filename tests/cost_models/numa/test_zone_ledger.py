"""The ledger of zones: room by shape and machine, bookings, copies, and what is saved and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cost_models.api.arrays import MalformedArraysError
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.kubelet_simulation import SIMULATED, SINGLE, ZoneRoom
from cost_models.numa.requests import Requests, compile_requests, pods_of
from cost_models.numa.single_zone_alignment import UNLIMITED
from cost_models.numa.zone_ledger import REASON, ZoneLedger, read_room
from tests.cost_models.numa.builders import container, shape


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def requests_for(*rows: Any) -> Requests:
    """Requests of cpu alone."""
    pods = pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), NumaOptions())
    return compile_requests(pods, ("cpu",), NumaOptions())


SMALL = shape(container("c", cpu=1000))
LARGE = shape(container("c", cpu=3000))
PAIR = shape(container("a", cpu=1000), container("b", cpu=2000))
FREE = shape(qos="BestEffort")


def ledger(*zones: tuple[int, ...], rows: tuple[Any, ...] = (SMALL, LARGE, PAIR, FREE)) -> ZoneLedger:
    """A ledger of machines with these cpus in their zones; the last machine aligns nothing."""
    left = np.array([[*zones, (9000,) * len(zones[0])]], dtype=np.int64)
    count = len(zones) + 1
    policy = np.array([SINGLE] * (count - 1) + [0], dtype=np.int8)
    return ZoneLedger(ZoneRoom(requests_for(*rows), policy, np.zeros(count, np.bool_), left.copy(), left))


class TestRoom:
    def test_each_machine_has_room_by_zone(self):
        made = ledger((3000, 2000), (999, 0))
        assert made.count_room(0).tolist() == [5, 0, UNLIMITED]
        assert made.count_room(1).tolist() == [1, 0, UNLIMITED]
        assert made.count_room(3).tolist() == [UNLIMITED] * 3

    def test_pods_of_several_containers_are_only_tried_once_in_the_rough_count(self):
        made = ledger((6000, 6000))
        assert made.count_room(2).tolist() == [1, UNLIMITED]
        assert made.room_at(ints(2), ints(0)).tolist() == [4]
        assert made.count_room(2).tolist() == [1, UNLIMITED], "the exact answer is kept apart"
        many = ledger((60_000, 60_000))
        assert many.room_at(ints(2), ints(0)).tolist() == [SIMULATED]

    def test_single_entries_are_told_in_their_order(self):
        made = ledger((3000, 2000), (999, 1000))
        asked = ints(1, 0, 0, 3), ints(0, 2, 1, 1)
        for _ in range(2):  # the second time from what was kept
            assert made.room_at(*asked).tolist() == [1, UNLIMITED, 1, UNLIMITED]
        assert made.room_at(ints(), ints()).tolist() == []

    @pytest.mark.parametrize("machines", range(1, 6))
    def test_counts_hold_whichever_part_has_changed(self, machines: int):
        for booked in range(machines + 1):
            made = ledger(*[(2000, 1000)] * machines)
            assert made.count_room(0).tolist() == [3] * machines + [UNLIMITED]
            if booked:
                assert (
                    made.book(
                        np.zeros(booked, np.int64), np.arange(booked), np.ones(booked, np.int64)
                    ).tolist()
                    == [1] * booked
                )
            assert made.count_room(0).tolist() == [2] * booked + [3] * (machines - booked) + [UNLIMITED]

    def test_machines_that_align_a_task_take_it_in_order(self):
        made = ledger((3000, 2000))
        assert made.find_ordered(ints(0, 0, 3), ints(0, 1, 0)).tolist() == [True, False, False]


class TestBookings:
    def test_no_more_are_booked_than_fit(self):
        made = ledger((3000, 2000))
        assert made.room_at(ints(0), ints(0)).tolist() == [5]
        assert made.book(ints(1, 0, 0), ints(0, 0, 1), ints(2, 9, 7)).tolist() == [1, 2, 7]
        assert made.room_at(ints(0, 1), ints(0, 0)).tolist() == [0, 0]
        assert made.count_room(0).tolist() == [0, UNLIMITED]

    def test_bookings_before_any_question_count_too(self):
        made = ledger((3000, 2000))
        assert made.book(ints(1), ints(0), ints(1)).tolist() == [1]
        assert made.count_room(1).tolist() == [0, UNLIMITED]
        assert made.room_at(ints(0), ints(0)).tolist() == [2]

    def test_a_copy_and_its_original_do_not_share_bookings(self):
        for asked in (False, True):
            made = ledger((3000, 2000))
            if asked:
                made.count_room(0)
            other = made.copy()
            assert other.reason == made.reason == REASON == "cannot align pod"
            other.book(ints(0), ints(0), ints(3))
            assert other.count_room(0).tolist() == [2, UNLIMITED]
            assert made.count_room(0).tolist() == [5, UNLIMITED]
            made.book(ints(0), ints(0), ints(5))
            assert other.count_room(0).tolist() == [2, UNLIMITED]


class TestSaving:
    def test_what_is_read_back_has_the_same_room(self):
        made = ledger((3000, 2000), (999, 1000))
        made.book(ints(0), ints(0), ints(1))
        made.count_room(0)
        saved = made.save()
        assert "_answers" not in saved
        again = ZoneLedger(read_room(saved, 4, 3))
        assert again.zones.requests.resources == ("cpu",)
        assert again.zones.requests.names == (("", "c"), ("", "c"), ("", "a", "b"), ("", ""))
        assert again.zones.requests.init_names == ((),) * 4
        for number in range(4):
            assert again.count_room(number).tolist() == made.count_room(number).tolist()
        assert again.zones.policy.tolist() == [SINGLE, SINGLE, 0]
        assert again.zones.total.tolist() == made.zones.total.tolist()

    def test_more_shapes_than_wanted_are_read_and_fewer_are_not(self):
        saved = ledger((3000, 2000)).save()
        assert read_room(saved, 3, 2).requests.count == 4
        with pytest.raises(MalformedArraysError, match="apps knows 4 shapes, not 5"):
            read_room(saved, 5, 2)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("policy", np.array([3, 0], np.int64), "policy is int64, not int8"),
            ("policy", np.array([3], np.int8), r"policy has the size \(1,\), not \(2,\)"),
            ("policy", np.array([4, 0], np.int8), "policy holds numbers out of range"),
            ("policy", np.array([-1, 0], np.int8), "policy holds numbers out of range"),
            ("apps", ints(1, 1, 3, 0), "apps holds numbers out of range"),
            ("apps", ints(1, 1, -1, 0), "apps holds numbers out of range"),
            ("hint", np.array([0, 0, 0, 4], np.int8), "hint holds numbers out of range"),
            ("taken", np.full((4, 3, 1), -1, np.int64), "taken holds numbers out of range"),
            ("checked", np.ones(5, np.bool_), r"checked has the size \(5,\), not \(4,\)"),
            ("init_implied", np.ones(4, np.int8), "init_implied is int8, not bool"),
            ("resources", np.array("["), "resources is not what was saved"),
            ("resources", np.array('["cpu", "gpu"]'), "resources has 2 entries, not 1"),
            ("resources", np.array("[]"), "resources has 0 entries, not 1"),
            ("names", np.array('[["", "c"]]'), "names has 1 entries, not 4"),
            ("names", np.array("[1, 2, 3, 4]"), "names is not what was saved"),
            ("init_names", np.array("[[], [], []]"), "init_names has 3 entries, not 4"),
        ],
    )
    def test_what_was_not_saved_so_is_refused(self, name: str, value: np.ndarray, message: str):
        saved: Mapping[str, np.ndarray] = {**ledger((3000, 2000)).save(), name: value}
        with pytest.raises(MalformedArraysError, match=message):
            read_room(saved, 4, 2)

    def test_the_extreme_values_that_may_be_saved(self):
        saved = {
            **ledger((3000, 2000)).save(),
            "policy": np.array([3, 0], np.int8),
            "hint": np.array([0, 1, 2, 3], np.int8),
            "apps": ints(2, 0, 1, 2),
            "taken": np.zeros((4, 3, 1), np.int64),
        }
        read = read_room(saved, 4, 2)
        assert (read.policy.tolist(), read.requests.hint.tolist()) == ([3, 0], [0, 1, 2, 3])

    @pytest.mark.parametrize("name", ["policy", "left", "apps", "init_implied", "names"])
    def test_a_missing_array_is_named(self, name: str):
        saved = {key: value for key, value in ledger((3000, 2000)).save().items() if key != name}
        with pytest.raises(KeyError, match=name):
            read_room(saved, 4, 2)
