"""Faults of objects as texts: they name the field, and stay short whatever the object holds."""

from __future__ import annotations

import pytest

from poseidon.kube.parsing.defects import LONGEST_FIELD, LONGEST_PROBLEM, Defect, list_defects, shorten


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("", 3, "")],
)
def test_texts_are_cut_only_beyond_their_length(text, most, shown):
    assert shorten(text, most) == shown


def test_texts_are_cut_after_eighty_characters_unless_more_are_wanted():
    assert shorten("x" * 80) == "x" * 80
    assert shorten("x" * 81) == "x" * 80 + "…"


def test_a_fault_names_its_field_if_it_has_one():
    assert str(Defect("spec.x", "is odd")) == "spec.x: is odd"
    assert str(Defect("", "is odd")) == "is odd"


def test_field_and_problem_have_a_length_of_their_own():
    long = Defect("f" * (LONGEST_FIELD + 1), "p" * (LONGEST_PROBLEM + 1))
    assert str(long) == "f" * 300 + "…: " + "p" * 500 + "…"
    just = Defect("f" * LONGEST_FIELD, "p" * LONGEST_PROBLEM)
    assert str(just) == f"{just.field}: {just.problem}"


def test_a_fault_of_a_part_gets_the_path_of_the_part():
    assert Defect("x", "is odd").prefix_path("spec.y") == Defect("spec.y.x", "is odd")
    assert Defect("", "is odd").prefix_path("spec.y") == Defect("spec.y", "is odd")


@pytest.mark.parametrize(
    ("count", "shown"), [(0, ""), (1, "0"), (2, "0; 1"), (3, "0; 1; and 1 more"), (5, "0; 1; and 3 more")]
)
def test_only_the_first_of_many_faults_are_listed(count, shown):
    assert list_defects([Defect("", str(number)) for number in range(count)], 2) == shown


def test_twenty_faults_are_listed_unless_it_is_said_otherwise():
    assert "more" not in list_defects([Defect("", "x")] * 20)
    assert list_defects([Defect("", "x")] * 21).endswith("; and 1 more")
