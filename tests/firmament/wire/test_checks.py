"""Checks that all decoders share: what passes, at the bounds, and the words about object, field and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from firmament.core.events import InvalidEventError
from firmament.core.model import MAX_QUANTITY, NodeSelectorTerm, Requirement
from firmament.wire.checks import (
    LATEST,
    LONGEST_NAME,
    SET_OPERATORS,
    check_amount,
    check_choice,
    check_length,
    check_required,
    check_sorted_quantities,
    check_time,
    check_within,
    decode_distinct,
    decode_each,
    decode_node_term,
    decode_quantities,
    decode_requirements,
    refuse,
    task_uids,
)
from protos.firmament.v1 import scheduler_pb2 as pb


def fault(check: Callable[[], object]) -> str:
    with pytest.raises(InvalidEventError) as refused:
        check()
    return str(refused.value)


def test_errors_are_short_and_printable():
    assert str(refuse("task t", "uids", "is empty")) == "task t: uids: is empty"
    assert str(refuse("a\nb", "\x00", "é\u200b")) == "a\\nb: \\x00: é\\u200b"
    long = str(refuse("s" * 900, "f" * 900, "p" * 900))
    assert long == f"{'s' * 500}: {'f' * 500}: {'p' * 496}"


def test_required_names():
    longest = "n" * LONGEST_NAME
    assert check_required("o", "name", longest) is longest
    assert fault(lambda: check_required("o", "name", "")) == "o: name: is empty; it is required"
    assert fault(lambda: check_required("o", "name", longest + "n")) == (
        f"o: name: has {LONGEST_NAME + 1} characters; send at most {LONGEST_NAME}"
    )


def quantity(name: str, amount: int) -> pb.Quantity:
    return pb.Quantity(resource=name, amount=amount)


def test_amounts():
    given = [quantity("b", MAX_QUANTITY), quantity("a", 0)]
    assert decode_quantities("o", "free", given) == {"b": MAX_QUANTITY, "a": 0}
    assert check_sorted_quantities("o", "free", given) == (("a", 0), ("b", MAX_QUANTITY))
    assert decode_quantities("o", "use", [pb.Usage(resource="a", amount=0.5)]) == {"a": 0.5}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([quantity("", 1)], "o: free.resource: is empty; name the resource"),
        ([quantity("a", 1), quantity("a", 1)], "o: free[a]: is given twice; send one amount per resource"),
        ([quantity("a", -1)], f"o: free[a]: -1 is negative; send 0 to {MAX_QUANTITY}"),
        (
            [quantity("a", MAX_QUANTITY + 1)],
            f"o: free[a]: {MAX_QUANTITY + 1} is absurdly large; send 0 to {MAX_QUANTITY}",
        ),
        (
            [pb.Usage(resource="a", amount=math.nan)],
            f"o: free[a]: nan is not an amount; send 0 to {MAX_QUANTITY}",
        ),
    ],
)
def test_what_are_no_amounts(items: list[Any], expected: str):
    assert fault(lambda: decode_quantities("o", "free", items)) == expected


def test_whole_amounts_and_ranges():
    assert [check_amount("o", "bytes", each) for each in (0, MAX_QUANTITY)] == [0, MAX_QUANTITY]
    assert fault(lambda: check_amount("o", "bytes", -1, "send more")) == "o: bytes: -1 is negative; send more"
    assert fault(lambda: check_amount("o", "bytes", MAX_QUANTITY + 1)).endswith(
        f"is absurdly large; send 0 to {MAX_QUANTITY}"
    )
    assert [check_within("o", "f", each, 2, 4) for each in (2, 4)] == [2, 4]
    for value in (1, 5):
        assert fault(lambda value=value: check_within("o", "f", value, 2, 4)) == (  # type: ignore[misc]
            f"o: f: {value} is out of range; use 2 to 4"
        )


def test_choices():
    assert check_choice("o", "f", "a", ("b", "a"), "a letter") == "a"
    assert fault(lambda: check_choice("o", "f", "c", ("b", "a"), "a letter", ", or none")) == (
        "o: f: 'c' is not a letter; use one of a, b, or none"
    )


def test_moments():
    assert [check_time("o", "at", each) for each in (0.0, LATEST)] == [0.0, LATEST]
    for value in (-0.5, LATEST + 1, math.nan, math.inf):
        assert fault(lambda value=value: check_time("o", "at", value)) == (  # type: ignore[misc]
            f"o: at: {value} is not a time; send seconds since the epoch"
        )


def test_uids():
    longest = "u" * LONGEST_NAME
    assert task_uids("o", ["a", longest]) == ("a", longest)
    assert fault(lambda: task_uids("o", [])) == "o: uids: is empty; name at least one task"
    assert fault(lambda: task_uids("o", ["a", ""])) == "o: uids[1]: is empty; it is required"
    assert fault(lambda: task_uids("o", ["a", "b", longest + "u"])).startswith(
        "o: uids[2]: has 1025 characters"
    )


def test_parallel_lists():
    check_length("o", "names", [], 2)
    check_length("o", "names", ["a", "b"], 2)
    for values in (["a"], ["a", "b", "c"]):
        assert fault(lambda values=values: check_length("o", "names", values, 2)) == (  # type: ignore[misc]
            f"o: names: has {len(values)} entries for 2 uids; send one each, or none"
        )


def test_repeated_fields_are_decoded_one_by_one_or_as_a_set():
    def decode(subject: str, field: str, message: int) -> tuple[str, int]:
        return f"{subject} {field}", message

    assert decode_each(decode)("o", "f", [5, 6]) == (("o f[0]", 5), ("o f[1]", 6))
    every = decode_distinct(lambda _subject, _field, message: message, lambda *given: given)
    assert every("o", "f", [(2, 1), (1, 5), (2, 1)]) == ((1, 5), (2, 1))


def requirement(operator: str, *values: str, key: str = "k") -> pb.Requirement:
    return pb.Requirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", "a"),
        ("In", "ab"),
        ("NotIn", "a"),
        ("Exists", ""),
        ("DoesNotExist", ""),
        ("Gt", "5"),
        ("Lt", "7"),
    ],
)
def test_requirements(operator: str, values: str):
    assert decode_requirements("o", "f", [requirement(operator, *values)]) == (
        Requirement("k", operator, tuple(values)),
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (requirement("In", "a", key=""), "f[0].key: is empty; it is required"),
        (
            requirement("Near", "a"),
            "f[0].operator: 'Near' is not an operator; use one of DoesNotExist, Exists, Gt, In, Lt, NotIn",
        ),
        (requirement("In"), "f[0].values: is empty; In needs at least one value"),
        (requirement("NotIn"), "f[0].values: is empty; NotIn needs at least one value"),
        (requirement("Exists", "a"), "f[0].values: has 1 entries; Exists takes none"),
        (requirement("DoesNotExist", "a", "b"), "f[0].values: has 2 entries; DoesNotExist takes none"),
        (requirement("Gt"), "f[0].values: is []; Gt needs exactly one integer"),
        (requirement("Lt", "1", "2"), "f[0].values: is ['1', '2']; Lt needs exactly one integer"),
        (requirement("Gt", "x"), "f[0].values: is ['x']; Gt needs exactly one integer"),
    ],
)
def test_what_are_no_requirements(message: pb.Requirement, expected: str):
    assert fault(lambda: decode_requirements("o", "f", [message])) == f"o: {expected}"


def test_selectors_of_tasks_compare_no_numbers():
    assert fault(lambda: decode_requirements("o", "f", [requirement("Gt", "1")], SET_OPERATORS)) == (
        "o: f[0].operator: 'Gt' is not an operator; use one of DoesNotExist, Exists, In, NotIn"
    )


def test_terms_of_nodes():
    message = pb.NodeSelectorTerm(labels=[requirement("Exists")], fields=[requirement("In", "a", key="n")])
    assert decode_node_term("o", "f", message) == NodeSelectorTerm(
        (Requirement("k", "Exists"),), (Requirement("n", "In", ("a",)),)
    )
    for field in ("labels", "fields"):
        wrong = pb.NodeSelectorTerm(**{field: [requirement("In")]})
        said = fault(lambda wrong=wrong: decode_node_term("o", "f", wrong))  # type: ignore[misc]
        assert said.startswith(f"o: f.{field}[0].values")
