"""Labels of machines as columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.selectors.label_columns import LabelColumn, LabelIndex, parse_integer
from firmament.core.selectors.node_selector_operators import Selectors

ZONES = ("a", "b", "a", None, "")


def index(values: tuple[str | None, ...], key: str = "zone") -> LabelIndex:
    labels = LabelIndex()
    for row, value in enumerate(values):
        labels.set(row, {} if value is None else {key: value})
    return labels


def matching(labels: LabelIndex, operator: str, *values: str, key: str = "zone") -> list[int]:
    """Rows that meet one requirement."""
    selectors = Selectors(labels, LabelColumn([]))
    return (
        selectors.term(NodeSelectorTerm(labels=(Requirement(key, operator, values),))).nonzero()[0].tolist()
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("+5", 5),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", None),
        ("0" * 5_000 + "7", 7),
        ("9" * 5_000, None),
        ("1_000", None),
        (" 1", None),
        ("1e3", None),
        ("0x1f", None),
        ("+-1", None),
        ("-", None),
        ("", None),
        ("٣", None),
    ],
)
def test_integers_are_read_as_kubernetes_reads_them(text: str, number: int | None):
    assert parse_integer(text) == number


# --- rows that come, change and go -----------------------------------------------------------------------------------


def test_a_change_of_value_reaches_columns_built_before():
    labels = index(ZONES)
    assert matching(labels, "In", "a") == [0, 2]
    labels.set(0, {"zone": "b"})
    labels.set(2, {"other": "a"})
    labels.set(3, {"zone": "a"})
    assert matching(labels, "In", "a") == [3]
    assert matching(labels, "Exists") == [0, 1, 3, 4]


def test_new_rows_reach_columns_built_before():
    labels = index(("a",))
    assert matching(labels, "Exists") == [0]
    for row in range(1, 200):
        labels.set(row, {"zone": "b"} if row % 2 else {})
    assert matching(labels, "In", "b") == list(range(1, 200, 2))


def test_removal_moves_the_last_row_into_the_gap():
    labels = index(("a", "b", "c"))
    assert matching(labels, "Exists") == [0, 1, 2]
    labels.remove(0)
    assert len(labels) == 2
    assert labels.rows == [{"zone": "c"}, {"zone": "b"}]
    assert matching(labels, "In", "c") == [0]
    assert matching(labels, "In", "a") == []


def test_removal_of_the_last_row():
    labels = index(("a", "b"))
    labels.remove(1)
    assert matching(labels, "Exists") == [0]
    labels.remove(0)
    assert matching(labels, "Exists") == []


def test_a_row_that_is_used_again_forgets_its_former_labels():
    labels = index(("a", "b"))
    assert matching(labels, "Exists") == [0, 1]
    labels.remove(1)
    labels.set(1, {})
    assert matching(labels, "Exists") == [0]


LABELS = st.dictionaries(st.sampled_from("kl"), st.sampled_from(["x", "y", "7"]))


@given(st.lists(st.tuples(st.integers(0, 4), LABELS) | st.sampled_from(["remove", "k", "l"]), max_size=25))
def test_columns_follow_their_machines(steps):
    """Whether they were built before labels changed, or are built now."""
    labels, rows = LabelIndex(), list[dict[str, str]]()
    for step in steps:
        if step == "remove":
            if rows:
                labels.remove(0)
                rows[0] = rows[-1]
                rows.pop()
        elif isinstance(step, str):
            labels.column(step)
        else:
            row = min(step[0], len(rows))
            rows[row : row + 1] = [step[1]]
            labels.set(row, step[1])
    for key in "kl":
        column = labels.column(key)
        assert column.present(len(rows)).tolist() == [key in each for each in rows]
        for value in ("x", "y", "7"):
            assert column.any_of([value], len(rows)).tolist() == [each.get(key) == value for each in rows]
        assert column.any_of(["x", "7"], len(rows)).tolist() == [each.get(key) in ("x", "7") for each in rows]
        numbers, known = column.read_integers()
        above = (known & (numbers > 6))[column.codes[: len(rows)]]
        assert above.tolist() == [each.get(key) == "7" for each in rows]
        assert (column.codes[: len(rows)] < len(column)).all()


def test_keys_that_no_machine_has_make_no_columns():
    labels = index(("a", "b"))
    for number in range(50_000):
        assert not labels.column(f"key-{number}").present(2).any()
    assert len(labels._columns) == 0


def test_what_no_machine_has_any_more_is_forgotten():
    labels = index(("a",))
    for number in range(50_000):
        labels.set(0, {"zone": str(number), f"key-{number}": "v"})
        labels.column(f"key-{number}")
        assert matching(labels, "In", str(number)) == [0]
    assert len(labels._columns) == len(labels._machines) == 2
    assert len(labels.column("zone")) < 10


def test_the_column_of_an_expected_key_is_that_of_one_asked_for_later():
    expecting, plain = LabelIndex(), LabelIndex()
    expecting.expect({"zone"})
    rows = [{"disk": "a"}, {"zone": "x"}, {}, {"zone": "y", "disk": "b"}]
    for labels in (expecting, plain):
        for row, each in enumerate(rows):
            labels.set(row, each)
        labels.remove(1)
        labels.set(0, {"zone": "y"})
    assert len(expecting._columns) == 1
    for value in ("x", "y"):
        assert (
            expecting.column("zone").any_of([value], 3).tolist()
            == plain.column("zone").any_of([value], 3).tolist()
        )
    assert expecting.column("zone").any_of(["y"], 3).tolist() == [True, True, False]
