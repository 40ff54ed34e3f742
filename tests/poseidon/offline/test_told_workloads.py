"""How a workload stands in its queue, in sentences and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.explanations import Remedy
from poseidon.offline.admission_trials import AdmissionChange
from poseidon.offline.explain_workload import WorkloadExplanation
from poseidon.offline.quota_changes import QuotaLack


def explained(**parts: Any) -> WorkloadExplanation:
    given = {
        "workload": "shop/Job/j",
        "pods": 3,
        "waiting": ("shop/j-0", "shop/j-1"),
        "queue": "ClusterQueue/team",
        "position": 2,
        "behind_it": 1234,
        "reason": "it lacks cpu.",
        "lacks": (),
        "changes": (),
        "cures": (),
        "warnings": (),
    }
    return WorkloadExplanation(**{**given, **parts})


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (
            {},
            [
                "Workload shop/Job/j of ClusterQueue team goes on waiting with 2 of 3 pods: it lacks cpu.",
                "Ahead of it in its queue: 1 workload; behind: 1,234.",
            ],
        ),
        (
            {"pods": 2, "position": 0},
            ["Workload shop/Job/j of ClusterQueue team goes on waiting with 2 pods: it lacks cpu."],
        ),
        (
            {"waiting": (), "queue": ""},
            [
                "Workload shop/Job/j, which is in no queue, does not wait: 3 pods of it have nodes, or get some."
            ],
        ),
        (
            {"position": 1, "behind_it": 0, "queue": "Queue/a/b"},
            [
                "Workload shop/Job/j of Queue a/b goes on waiting with 2 of 3 pods: it lacks cpu.",
                "Ahead of it in its queue: 0 workloads; behind: 0.",
            ],
        ),
    ],
)
def test_a_workload_is_described_in_sentences(parts, lines):
    assert list(explained(**parts).describe()) == lines


LACKS = (QuotaLack("spot", "cpu", 3000, 500), QuotaLack("", "memory", 2**30, -5))
CHANGE = AdmissionChange("raise it", (), ("kubectl patch",))
CURE = Remedy("unused", ("kubectl label",), {"text": "label it"})


def test_what_is_lacking_and_what_would_help_follows():
    assert list(explained(position=0, lacks=LACKS, changes=(CHANGE,), cures=(CURE,)).describe())[1:] == [
        "It asks for 3 of cpu of flavor spot, of which 500m is left to its queue.",
        "It asks for 1Gi of memory, of which 0 is left to its queue.",
        "Any of these would do; each has been tried by a plan:",
        "- raise it",
        "    kubectl patch",
        "- label it",
        "    kubectl label",
    ]
    assert "Any of these" in list(explained(cures=(CURE,)).describe())[2]


def test_the_same_as_json():
    found = explained(lacks=LACKS, changes=(CHANGE,), cures=(CURE,)).as_json()
    assert found == {
        "workload": "shop/Job/j",
        "pods": 3,
        "waiting": ["shop/j-0", "shop/j-1"],
        "queue": "ClusterQueue/team",
        "position": 2,
        "behind": 1234,
        "reason": "it lacks cpu.",
        "lacks": [
            {"flavor": "spot", "resource": "cpu", "wanted": 3000, "left": 500},
            {"flavor": "", "resource": "memory", "wanted": 2**30, "left": -5},
        ],
        "changes": [{"text": "raise it", "steps": [], "commands": ["kubectl patch"], "others": []}],
        "cures": [{"text": "label it"}],
    }
    bare = explained(queue="", position=0).as_json()
    assert (bare["queue"], bare["position"]) == (None, None)
