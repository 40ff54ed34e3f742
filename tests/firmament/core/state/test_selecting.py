"""Which classes a selector of tasks matches, as classes and namespaces come and change."""

from __future__ import annotations

import json
import random

import pytest

from firmament.core.model import Requirement, TaskSelector
from firmament.core.state.class_selectors import ClassSelector
from firmament.core.state.classes import ClassTable
from tests.support.core import task_class

LABELS: list[dict[str, str]] = [
    {"app": "web"},
    {"app": "db", "tier": "back"},
    {},
    {"app": "web", "tier": "back"},
]


def table(*namespaces: str) -> ClassTable:
    """Four classes with the labels above in each namespace."""
    made = ClassTable()
    for namespace in namespaces or ("n",):
        for labels in LABELS:
            add(made, namespace, **labels)
    return made


def add(made: ClassTable, namespace: str, **labels: str) -> int:
    content = task_class(namespace=namespace, labels=tuple(sorted(labels.items())))
    return made.define(len(made.rows), content)


def chosen(*labels: Requirement, **more: object) -> list[int]:
    given = {"namespaces": ("n",), **more}
    return ClassSelector(table().rows).matching(TaskSelector(labels, **given)).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (Requirement("app", "In", ("web",)), [0, 3]),
        (Requirement("app", "In", ("web", "db")), [0, 1, 3]),
        (Requirement("app", "In", ("other",)), []),
        (Requirement("app", "NotIn", ("web",)), [1, 2]),
        (Requirement("app", "NotIn", ("web", "db")), [2]),
        (Requirement("tier", "Exists"), [1, 3]),
        (Requirement("tier", "DoesNotExist"), [0, 2]),
    ],
)
def test_one_requirement(requirement: Requirement, expected: list[int]):
    assert chosen(requirement) == expected


def test_all_requirements_hold():
    assert chosen(Requirement("app", "In", ("web",)), Requirement("tier", "In", ("back", "front"))) == [3]
    assert chosen(Requirement("app", "In", ("web",)), Requirement("tier", "DoesNotExist")) == [0]
    assert chosen(Requirement("app", "In", ("web",)), Requirement("app", "In", ("db",))) == []


def test_no_requirement_matches_all_and_nothing_matches_none():
    assert chosen() == [0, 1, 2, 3]
    assert chosen(nothing=True) == []
    selector = ClassSelector(table().rows)
    assert not selector.matches(TaskSelector(nothing=True, namespaces=("n",)), 0)


def test_namespaces_by_name():
    selector = ClassSelector(table("n", "o", "p").rows)
    web = (Requirement("app", "In", ("web",)),)
    assert selector.matching(TaskSelector(web, namespaces=("n", "p"))).tolist() == [0, 3, 8, 11]
    assert selector.matching(TaskSelector(web)).tolist() == []
    assert selector.matching(TaskSelector(web, namespaces=("x",))).tolist() == []


def records(**labels: dict[str, str]) -> dict[str, bytes]:
    return {name: json.dumps({"labels": own}).encode() for name, own in labels.items()}


def test_namespaces_by_label_come_beside_those_by_name():
    selector = ClassSelector(table("n", "o", "p").rows)
    selector.set_namespaces(records(n={"team": "a"}, o={"team": "b"}))
    db = (Requirement("app", "In", ("db",)),)
    team = (Requirement("team", "In", ("b",)),)
    assert selector.matching(TaskSelector(db, namespace_labels=team)).tolist() == [5]
    assert selector.matching(TaskSelector(db, namespaces=("p",), namespace_labels=team)).tolist() == [5, 9]
    every = TaskSelector(db, namespace_labels=())
    assert selector.matching(every).tolist() == [1, 5, 9]
    absent = (Requirement("team", "DoesNotExist"),)  # of p nothing is known
    assert selector.matching(TaskSelector(db, namespace_labels=absent)).tolist() == [9]


def test_answers_follow_the_labels_of_namespaces():
    selector = ClassSelector(table("n").rows)
    asked = TaskSelector(namespace_labels=(Requirement("team", "In", ("a",)),))
    assert selector.matching(asked).tolist() == []
    selector.set_namespaces(records(n={"team": "a"}))
    assert selector.matching(asked).tolist() == [0, 1, 2, 3]
    assert selector.matches(asked, 2)
    selector.set_namespaces(records(n={"team": "b"}))
    assert selector.matching(asked).tolist() == []
    assert not selector.matches(asked, 2)
    selector.set_namespaces({})
    assert selector.matching(asked).tolist() == []


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"{", b'{"labels": 3}', b'{"labels": null}', b"{}", b'"text"']
)
def test_a_record_that_makes_no_sense_has_no_labels(payload: bytes):
    selector = ClassSelector(table("n").rows)
    selector.set_namespaces({"n": payload})
    assert selector.matching(TaskSelector(namespace_labels=())).tolist() == [0, 1, 2, 3]
    some = TaskSelector(namespace_labels=(Requirement("team", "Exists"),))
    assert selector.matching(some).tolist() == []


def test_answers_follow_classes_that_are_defined_later():
    made = table()
    selector = ClassSelector(made.rows)
    web = TaskSelector((Requirement("app", "In", ("web",)),), namespaces=("n",))
    every = TaskSelector(namespaces=("n",))
    assert selector.matching(web).tolist() == [0, 3]
    late = add(made, "n", app="web", tier="front")
    assert selector.matching(web).tolist() == [0, 3, late]
    assert selector.matching(every).tolist() == [0, 1, 2, 3, late]
    assert selector.matches(web, add(made, "n", app="web", tier="none"))
    assert selector.matching(web).tolist() == [0, 3, late, late + 1]


def test_random_selectors_agree_with_one_class_at_a_time():
    rnd = random.Random(1)
    made = ClassTable()
    selector = ClassSelector(made.rows)
    selector.set_namespaces(records(a={"team": "x"}, b={}))
    for _ in range(40):
        labels = {key: rnd.choice("xyz") for key in ("k", "l") if rnd.random() < 0.6}
        add(made, rnd.choice("abc"), **labels)
        asked = TaskSelector(
            tuple(
                Requirement(key, operator, tuple(rnd.sample("xyz", 2)) if operator.endswith("In") else ())
                for key in ("k", "l")
                if rnd.random() < 0.6
                for operator in [rnd.choice(["In", "NotIn", "Exists", "DoesNotExist"])]
            ),
            namespaces=tuple(rnd.sample("abc", rnd.randint(0, 2))),
            namespace_labels=rnd.choice([None, (), (Requirement("team", "Exists"),)]),
        )
        expected = [row for row in range(len(made.rows)) if selector.matches(asked, row)]
        assert selector.matching(asked).tolist() == expected


def test_a_table_of_many_classes_gives_the_answers_of_single_ones():
    rng = random.Random(7)
    operators = ("In", "NotIn", "Exists", "DoesNotExist")
    made = ClassTable()
    selector = ClassSelector(made.rows)
    selector.set_namespaces(records(n={"team": "a"}, o={"team": "b"}))
    asked = []
    for _ in range(60):
        labels = tuple(
            Requirement(
                rng.choice("abc"), operator, ("0", "1")[: rng.randint(1, 2)] if "In" in operator else ()
            )
            for operator in rng.choices(operators, k=rng.randint(0, 3))
        )
        by_label = rng.choice([None, (), (Requirement("team", "NotIn", ("a",)),)])
        asked.append(TaskSelector(labels, namespaces=("n",)[: rng.randint(0, 1)], namespace_labels=by_label))
    for size in (3, 50, 51, 120):
        while len(made.rows) < size:
            own = {key: rng.choice("012") for key in "abc" if rng.random() < 0.6}
            add(made, rng.choice("nop"), **own, one=str(len(made.rows)))
        for each in asked:
            alone = [row for row in range(size) if selector.matches(each, row)]
            assert selector.matching(each).tolist() == alone
