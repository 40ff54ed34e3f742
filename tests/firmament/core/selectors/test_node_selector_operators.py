"""Operators and terms of node selectors over a table of machines."""

from __future__ import annotations

import pytest

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.selectors.label_columns import NAME_FIELD, LabelColumn, LabelIndex
from firmament.core.selectors.node_selector_operators import Selectors, list_named_values
from tests.firmament.core.selectors.test_label_columns import ZONES, index, matching
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids

MACHINES: tuple[tuple[str, dict[str, str]], ...] = (
    ("m0", {"zone": "a", "disk": "ssd"}),
    ("m1", {"zone": "a", "disk": "hdd"}),
    ("m2", {"zone": "b", "disk": "ssd"}),
    ("m3", {}),
)


@pytest.fixture
def selectors() -> Selectors:
    labels, names = LabelIndex(), LabelColumn([])
    for row, (name, given) in enumerate(MACHINES):
        labels.set(row, given)
        names.set(row, name)
    return Selectors(labels, names)


def require(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values)


ZONE_A, SSD = require("zone", "In", "a"), require("disk", "In", "ssd")


def test_requirements_of_a_term_are_anded(selectors: Selectors):
    assert selectors.term(NodeSelectorTerm(labels=(ZONE_A, SSD))).tolist() == [True, False, False, False]


def test_terms_are_ored(selectors: Selectors):
    terms = (NodeSelectorTerm(labels=(ZONE_A,)), NodeSelectorTerm(labels=(SSD,)))
    assert selectors.terms(terms).tolist() == [True, True, True, False]


def test_an_empty_term_matches_nothing(selectors: Selectors):
    assert not selectors.term(NodeSelectorTerm()).any()
    beside = (NodeSelectorTerm(), NodeSelectorTerm(labels=(SSD,)))
    assert selectors.terms(beside).tolist() == [True, False, True, False]


def test_no_terms_match_nothing(selectors: Selectors):
    assert not selectors.terms(()).any()


def test_fields_compare_the_machine_name(selectors: Selectors):
    assert selectors.term(
        NodeSelectorTerm(fields=(require("metadata.name", "In", "m1", "m3"),))
    ).tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert selectors.term(NodeSelectorTerm(fields=(require("metadata.name", "NotIn", "m1"),))).tolist() == [
        True,
        False,
        True,
        True,
    ]


def test_fields_and_labels_are_anded(selectors: Selectors):
    term = NodeSelectorTerm(labels=(ZONE_A,), fields=(require("metadata.name", "NotIn", "m0"),))
    assert selectors.term(term).tolist() == [False, True, False, False]


def test_an_unknown_field_matches_nothing(selectors: Selectors):
    assert not selectors.term(NodeSelectorTerm(fields=(require("metadata.uid", "NotIn", "x"),))).any()


def test_a_node_selector_wants_every_pair(selectors: Selectors):
    assert selectors.pairs(()).all()
    assert selectors.pairs((("zone", "a"), ("disk", "hdd"))).tolist() == [False, True, False, False]
    assert not selectors.pairs((("zone", "a"), ("rack", "1"))).any()


# --- pins ------------------------------------------------------------------------------------------------------------


def named(*names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(fields=(require("metadata.name", "In", *names),))


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ((named("m1"),), ("m1",)),
        ((named("m2", "m1"),), ("m1", "m2")),
        ((named("m2"), named("m1"), named("m2")), ("m1", "m2")),
        ((), None),
        ((NodeSelectorTerm(),), None),
        ((named("m1"), NodeSelectorTerm(labels=(ZONE_A,))), None),
        ((NodeSelectorTerm(labels=(ZONE_A,), fields=(require("metadata.name", "In", "m1"),)),), None),
        ((NodeSelectorTerm(fields=(require("metadata.name", "NotIn", "m1"),)),), None),
        ((NodeSelectorTerm(fields=(require("metadata.uid", "In", "m1"),)),), None),
        (
            (
                NodeSelectorTerm(
                    fields=(require("metadata.name", "In", "m1"), require("metadata.name", "In", "m1"))
                ),
            ),
            None,
        ),
    ],
)
def test_which_terms_are_pins(terms: tuple[NodeSelectorTerm, ...], names: tuple[str, ...] | None):
    assert list_named_values(terms, NAME_FIELD) == names


def test_pinned_tasks_go_to_their_machines():
    core = scheduler(
        *(machine(name) for name, _ in MACHINES),
        *(
            event
            for number, (name, _) in enumerate(MACHINES, start=1)
            for event in tasks(number, f"agent-{name}", content=task_class(required=(named(name),)))
        ),
    )
    assert placed(core.run_round()) == {f"agent-{name}": name for name, _ in MACHINES}


def test_a_pin_to_an_unknown_machine_waits_for_it():
    core = scheduler(machine("m0"), tasks(1, "t", content=task_class(required=(named("m9"),))))
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply([machine("m8")])
    assert core.next_round_in() is None
    core.apply([machine("m9")])
    assert placed(core.run_round()) == {"t": "m9"}


def test_a_named_machine_and_a_pin_must_agree():
    agreeing = task_class(required=(named("m0", "m1"),), machine="m1")
    contradictory = task_class(required=(named("m0"),), machine="m1")
    core = scheduler(
        machine("m0"),
        machine("m1"),
        tasks(1, *uids("a", 2), content=agreeing),
        tasks(2, "b", content=contradictory),
    )
    assert placed(core.run_round()) == {"a-0": "m1", "a-1": "m1"}


def test_a_named_machine_must_match_the_labels_too():
    content = task_class(node_selector=(("zone", "b"),), machine="m0")
    core = scheduler(
        machine("m0", labels={"zone": "a"}),
        machine("m2", labels={"zone": "b"}),
        tasks(1, "t", content=content),
    )
    assert placed(core.run_round()) == {}


# --- operators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "values", "rows"),
    [
        ("In", ("a",), [0, 2]),
        ("In", ("a", "b"), [0, 1, 2]),
        ("In", ("c",), []),
        ("In", ("c", "b"), [1]),
        ("In", ("",), [4]),
        ("NotIn", ("a",), [1, 3, 4]),
        ("NotIn", ("a", "b"), [3, 4]),
        ("NotIn", ("c",), [0, 1, 2, 3, 4]),
        ("NotIn", ("",), [0, 1, 2, 3]),
        ("Exists", (), [0, 1, 2, 4]),
        ("DoesNotExist", (), [3]),
    ],
)
def test_operators_on_sets(operator: str, values: tuple[str, ...], rows: list[int]):
    assert matching(index(ZONES), operator, *values) == rows


@pytest.mark.parametrize(
    ("operator", "values", "rows"),
    [
        ("In", ("a",), []),
        ("NotIn", ("a",), [0, 1]),
        ("Exists", (), []),
        ("DoesNotExist", (), [0, 1]),
        ("Gt", ("0",), []),
        ("Lt", ("0",), []),
    ],
)
def test_a_key_that_no_machine_has(operator: str, values: tuple[str, ...], rows: list[int]):
    assert matching(index(("a", "b")), operator, *values, key="unheard-of") == rows


NUMBERS = ("1", "8", "10", "-3", "+9", "4.5", "many", "", None, "9" * 30, "010")


@pytest.mark.parametrize(
    ("operator", "bound", "rows"),
    [
        ("Gt", "8", [2, 4, 10]),
        ("Gt", "-4", [0, 1, 2, 3, 4, 10]),
        ("Gt", "10", []),
        ("Lt", "8", [0, 3]),
        ("Lt", "-3", []),
        ("Lt", "+2", [0, 3]),
    ],
)
def test_order_compares_integers_and_nothing_else(operator: str, bound: str, rows: list[int]):
    assert matching(index(NUMBERS), operator, bound) == rows


@pytest.mark.parametrize("bound", ["4.5", "many", "", "9" * 30])
def test_order_with_a_bound_that_is_no_integer_matches_nothing(bound: str):
    assert matching(index(NUMBERS), "Gt", bound) == []
    assert matching(index(NUMBERS), "Lt", bound) == []
