"""Which conditions matchLabelKeys and mismatchLabelKeys add, and what is wrong with them."""

from __future__ import annotations

import pytest

from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.match_label_keys import parse_match_label_keys
from tests.poseidon.pod_rules.test_label_selectors import LABELS, asked, condition, selector


def keys(
    given: LabelSelector | None, match: tuple[str, ...] = (), mismatch: tuple[str, ...] = ()
) -> tuple[list, list]:
    defects: list[Defect] = []
    found = parse_match_label_keys(given, LABELS, "p", defects, match=match, mismatch=mismatch)
    return asked(found), [str(each) for each in defects]


def test_keys_of_labels_become_conditions_on_the_pods_own_values():
    assert keys(selector(), ("app",), ("tier",)) == ([("app", "In", ["web"]), ("tier", "NotIn", ["db"])], [])
    assert keys(selector(), ("nothing",), ("other",)) == ([], [])
    assert keys(selector()) == ([], [])


@pytest.mark.parametrize(
    ("given", "match", "mismatch", "faults"),
    [
        (None, ("app",), (), ["p.matchLabelKeys: needs a labelSelector beside it; add one or remove it"]),
        (None, (), ("app",), ["p.mismatchLabelKeys: needs a labelSelector beside it; add one or remove it"]),
        (None, (), (), []),
        (
            selector(),
            ("app",),
            ("app",),
            ["p.matchLabelKeys[0]: 'app' stands in mismatchLabelKeys as well; remove one of the two"],
        ),
        (
            selector(app="web"),
            ("tier", "app"),
            (),
            ["p.matchLabelKeys[1]: 'app' stands in labelSelector as well; remove one"],
        ),
        (
            selector(condition("app", "Exists")),
            ("app",),
            (),
            ["p.matchLabelKeys[0]: 'app' stands in labelSelector as well; remove one"],
        ),
        (
            selector(condition("app", "In", "a", "b")),
            ("app",),
            (),
            ["p.matchLabelKeys[0]: 'app' stands in labelSelector as well; remove one"],
        ),
        (selector(condition("app", "In", "old")), ("app",), (), []),
        (selector(condition("app", "NotIn", "old")), (), ("app",), []),
        (selector(app="web"), (), ("app",), []),
    ],
)
def test_keys_of_labels_stand_in_one_place(given, match, mismatch, faults):
    assert keys(given, match, mismatch)[1] == faults


def test_what_the_api_server_has_merged_is_not_added_again():
    assert keys(selector(condition("app", "In", "old")), ("app",))[0] == []
    assert keys(selector(condition("app", "NotIn", "old")), (), ("app",))[0] == []
    assert keys(selector(condition("app", "In", "old")), (), ("app",))[0] == [("app", "NotIn", ["web"])]


def test_a_key_that_is_none_is_a_fault():
    found, faults = keys(selector(), ("-",))
    assert found == []
    [fault] = faults
    assert fault.startswith("p.matchLabelKeys[0]: '-' is not a label key")
