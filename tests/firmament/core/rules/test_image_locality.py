"""What it is worth that a machine has a task's images, with kube-scheduler's ImageLocality worked out by hand."""

from __future__ import annotations

import pytest

from firmament.core.rules.image_locality import score_images
from tests.firmament.core.selectors.machines_with_images import Machines, index


def scores(made: Machines, *images: str) -> list[float] | None:
    found = score_images(made, images, made.count)
    return None if found is None else found.tolist()


def test_no_machine_has_any_of_them():
    assert scores(index({"a": 500}, {}), "b") is None
    assert scores(index({"a": 500}, {})) is None
    assert scores(index(), "a") is None


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (22, 0),
        (23, 0),
        (512, 50),  # (512 - 23) / (1000 - 23) = 0.5005
        (511, 49),  # 0.4995
        (999, 99),
        (1000, 100),
        (4000, 100),
    ],
)
def test_between_two_thresholds(size: int, expected: int):
    assert scores(index({"a": size}), "a") == [expected]


def test_a_rare_image_counts_by_the_share_of_machines_that_have_it():
    # one of four: 2000 / 4 = 500; (500 - 23) / 977 = 0.488. Two of four: 1000
    assert scores(index({"a": 2000}, {}, {}, {}), "a") == [48, 0, 0, 0]
    assert scores(index({"a": 2000}, {}, {"a": 2000}, {}), "a") == [100, 0, 100, 0]


def test_images_of_several_containers_add_up_to_a_higher_threshold():
    # (600 + 600 - 23) / (2000 - 23) = 0.595; one of them (600 - 23) / 1977 = 0.29
    made = index({"a": 600, "b": 600}, {"a": 600, "b": 600})
    assert scores(made, "a", "b") == [59, 59]
    assert scores(made, "a", "unknown") == [29, 29]
    assert scores(made, "a", "a") == [59, 59]  # two containers of one image count twice


def test_sizes_may_differ_from_machine_to_machine():
    assert scores(index({"a": 512}, {"a": 1000}), "a") == [50, 100]
