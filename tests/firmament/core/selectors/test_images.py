"""Which machines have which images, and how large these are."""

from __future__ import annotations

from firmament.core.model import Image
from tests.firmament.core.selectors.machines_with_images import MIB, Machines, held, index


def sizes(made: Machines, *images: str) -> list[float] | None:
    """MiB that each machine has of these images, each scaled by the share of machines that have it."""
    found = made.sum_scaled_sizes(images, made.count)
    return None if found is None else (found / MIB).tolist()


def test_no_machine_has_any_of_them():
    assert sizes(index({"a": 500}, {}), "b") is None
    assert sizes(index({"a": 500}, {})) is None
    assert sizes(index(), "a") is None


def test_each_size_is_scaled_by_the_share_of_machines_that_have_the_image():
    assert sizes(index({"a": 2000}, {}, {}, {}), "a") == [500, 0, 0, 0]
    assert sizes(index({"a": 2000}, {}, {"a": 1000}, {}), "a") == [1000, 0, 500, 0]


def test_images_add_up_and_count_once_for_each_container():
    made = index({"a": 600, "b": 500}, {"a": 600, "b": 500})
    assert sizes(made, "a", "b") == [1100, 1100]
    assert sizes(made, "a", "unknown") == [600, 600]
    assert sizes(made, "a", "a") == [1200, 1200]


def test_scaled_sizes_are_whole_bytes():
    made = Machines(3)
    made.set(0, (Image(("a",), 100),))
    found = made.sum_scaled_sizes(("a",), 3)
    assert found is not None
    assert found.tolist() == [33, 0, 0]


def test_an_image_is_found_by_each_of_its_names_once():
    made = index({})
    made.set(0, (Image(("a:1", "a@sha256:0", "a:1"), 1000 * MIB),))
    assert sizes(made, "a:1") == sizes(made, "a@sha256:0") == [1000]


def test_answers_follow_machines():
    made = index({"a": 900}, {}, {"b": 900})
    assert sizes(made, "a") == [300, 0, 0]
    made.set(1, held({"a": 900}))
    assert sizes(made, "a") == [600, 600, 0]
    made.remove(2, 0)  # the last one takes its row
    made.count = 2
    assert sizes(made, "a") == [0, 450]
    assert sizes(made, "b") == [450, 0]
    made.remove(1, 1)
    made.count = 1
    assert sizes(made, "a") is None
    assert sizes(made, "b") == [900]
    made.set(0, ())
    assert sizes(made, "b") is None
