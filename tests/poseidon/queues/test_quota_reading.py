"""Quotas as ClusterQueues and Cohorts state them: amounts by flavor and resource, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.queues import FairSharing, ResourceGroup
from poseidon.kube.parsing.defects import Defect
from poseidon.queues.quota_reading import (
    MOST_FLAVORS,
    MOST_GROUPS,
    MOST_RESOURCES,
    MOST_WEIGHT,
    find_cycles,
    read_groups,
    read_reference,
    read_weight,
)


def flavor(name: str = "f", /, **quotas: Any) -> dict[str, Any]:
    """A flavor; a quota is a number, or a dictionary of all three."""
    return {
        "name": name,
        "resources": [
            {"name": each, **(given if isinstance(given, dict) else {"nominalQuota": given})}
            for each, given in quotas.items()
        ],
    }


def group(*flavors: dict[str, Any], covered: tuple[str, ...] = ("cpu",)) -> ResourceGroup:
    return convert_object({"coveredResources": list(covered), "flavors": list(flavors)}, ResourceGroup)


def said(*groups: ResourceGroup, shared: bool = True) -> list[str]:
    return [str(each) for each in read_groups(groups, shared=shared).defects]


def test_amounts_are_read_by_flavor_and_resource():
    limits = {"nominalQuota": "2", "borrowingLimit": "500m", "lendingLimit": 1}
    found = read_groups(
        [
            group(
                flavor("a", cpu=limits, memory="1Ki"), flavor("b", cpu=1, memory=0), covered=("cpu", "memory")
            ),
            group(flavor("g", gpu=8), covered=("gpu",)),
        ],
        shared=True,
    )
    assert found.defects == []
    assert found.nominal == {
        "a": {"cpu": 2000, "memory": 1024},
        "b": {"cpu": 1000, "memory": 0},
        "g": {"gpu": 8},
    }
    assert found.borrowing == {"a": {"cpu": 500}}
    assert found.lending == {"a": {"cpu": 1000}}
    assert found.flavors == ["a", "b", "g"]
    assert [(each.resources, each.flavors) for each in found.covered] == [
        (("cpu", "memory"), ("a", "b")),
        (("gpu",), ("g",)),
    ]


def test_limits_of_sharing_need_somebody_to_share_with():
    limits = {"nominalQuota": 2, "borrowingLimit": 1, "lendingLimit": 1}
    place = "spec.resourceGroups[0].flavors[0].resources[0]"
    problem = "there is no cohort to share with; name one, or remove the limit"
    assert said(group(flavor(cpu=limits)), shared=False) == [
        f"{place}.borrowingLimit: {problem}",
        f"{place}.lendingLimit: {problem}",
    ]
    assert read_groups([group(flavor(cpu=limits))], shared=False).nominal == {"f": {"cpu": 2000}}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([group(flavor(cpu="much"))], "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "),
        (
            [group(flavor("", cpu=1))],
            "spec.resourceGroups[0].flavors[0].name: missing; name a ResourceFlavor",
        ),
        (
            [group(flavor("a", cpu=1), flavor("b", memory=1))],
            "spec.resourceGroups[0].flavors[1].resources: are not those of coveredResources; give each of these once",
        ),
        ([group()], "spec.resourceGroups[0].flavors: has 0 entries; give 1 to 64"),
        (
            [group(flavor(), covered=())],
            "spec.resourceGroups[0].coveredResources: has 0 entries; give 1 to 64",
        ),
        (
            [group(flavor("a", cpu=1)), group(flavor("b", cpu=1))],
            "spec.resourceGroups: resource 'cpu' is in 2 groups; leave it in one",
        ),
        (
            [group(flavor("a", cpu=1)), group(flavor("a", gpu=1), covered=("gpu",))],
            "spec.resourceGroups: flavor 'a' is in 2 groups; leave it in one",
        ),
    ],
)
def test_what_makes_no_sense_is_said_with_its_place(groups, words):
    [defect] = said(*groups)
    assert defect.startswith(words)


def test_lists_have_the_limits_of_kueues_api():
    many = [
        group(flavor(f"f{index}", **{f"r{index}": 1}), covered=(f"r{index}",))
        for index in range(MOST_GROUPS + 1)
    ]
    assert said(*many[:MOST_GROUPS]) == []
    assert said(*many) == ["spec.resourceGroups: has 17 groups; at most 16 are possible"]
    flavors = [flavor(f"f{index}", cpu=1) for index in range(MOST_FLAVORS + 1)]
    assert said(group(*flavors[:MOST_FLAVORS])) == []
    assert said(group(*flavors)) == ["spec.resourceGroups[0].flavors: has 65 entries; give 1 to 64"]
    names: list[Any] = [f"r{index}" for index in range(MOST_RESOURCES + 1)]
    assert said(group(flavor(**dict.fromkeys(names[:-1], 1)), covered=tuple(names[:-1]))) == []
    assert said(group(flavor(**dict.fromkeys(names, 1)), covered=tuple(names))) == [
        "spec.resourceGroups[0].coveredResources: has 65 entries; give 1 to 64"
    ]


@pytest.mark.parametrize(
    ("weight", "read", "faults"),
    [
        (None, 1.0, 0),
        ("2", 2.0, 0),
        ("500m", 0.5, 0),
        (0, 0.0, 0),
        (int(MOST_WEIGHT), MOST_WEIGHT, 0),
        (int(MOST_WEIGHT) + 1, 1.0, 1),
        (-1, 1.0, 1),
        ("heavy", 1.0, 1),
    ],
)
def test_weights_are_one_unless_a_sensible_one_is_stated(weight, read, faults):
    defects: list[Defect] = []
    assert read_weight(convert_object({"weight": weight}, FairSharing), defects) == read
    assert [each.field for each in defects] == ["spec.fairSharing.weight"] * faults
    assert read_weight(None, defects) == 1.0


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("", True),
        ("a", True),
        ("a-b.c", True),
        ("x" * 253, True),
        ("x" * 254, False),
        ("A", False),
        ("-a", False),
    ],
)
def test_references_are_names_of_objects(name, good):
    defects: list[Defect] = []
    assert read_reference(name, "spec.cohort", defects) == (name if good else "")
    assert [each.field for each in defects] == ([] if good else ["spec.cohort"])


@pytest.mark.parametrize(
    ("parents", "circular"),
    [
        ({}, []),
        ({"a": "b", "b": ""}, []),
        ({"a": "b", "b": "nobody"}, []),
        ({"a": "a"}, ["a"]),
        ({"a": "b", "b": "a", "c": "a", "d": ""}, ["a", "b", "c"]),
        ({"c": "a", "a": "b", "b": "a", "d": "c"}, ["c", "a", "b", "d"]),
    ],
)
def test_ways_up_that_run_into_a_circle_are_found(parents, circular):
    assert list(find_cycles(parents)) == circular
