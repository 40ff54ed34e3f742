"""A class has a name of its own: who reads it in one place knows what it is in any other."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.repository.definitions import iter_definitions

PACKAGES = ("firmament", "cost_models", "poseidon")

TESTBED = "poseidon/testbed/"
"""Stands in for the cluster that the bridge is a client of, and shares no code with it: both call things alike."""

ALLOWED = {
    # The same thing on both sides of an interface, or told once more for people.
    "AttachedVolumes": "of which tasks need no more, as the solver rules and as the bridge follows them",
    "ClassTable": "interned task classes, the solver's and the bridge's",
    "Cure": "what would let a pod have a place, and how the audit tells it",
    "Job": "the owner of tasks to the solver, and Kubernetes' kind that the bridge makes one of",
    "LevelRule": "a group's rule on one level, as a cost model reads it and as its object states it",
    "NodeAffinity": "kube-scheduler's rule, and the field of a pod that it reads",
    "NodeSelectorTerm": "core/v1, as the solver matches it and as the API server sends it",
    "RoundHistory": "the last rounds, kept by the solver and by the bridge",
    "SavedRound": "a round in a folder, and the row of a list that stands for it",
    "Session": "the two ends of one stream between bridge and solver",
    "SolverClient": "who asks the solver: a command of its own, and the demonstration",
    "Taint": "core/v1, as for NodeSelectorTerm",
    "Toleration": "core/v1, as for NodeSelectorTerm",
    # Two parts of the bridge that know nothing of each other; no third one looks at both.
    "Demand": "who of a gang, and who of an application, is asked for",
    "Eviction": "a pod that is told to go, as the dashboard lists it and as the mover asks for it",
    "Finding": "of doctor, and of what is proposed to an application's objects",
    "HostPort": "of a pod, and of a command line's address",
    "Jobs": "that a dashboard works on, and of Kubernetes",
    "Known": "to the dashboard, and to a watch that begins anew",
    "Member": "of a group over a tree, and of an application",
    "ObjectKey": "namespace and name, of a pod group and of an application group",
    "Reason": "why a machine is refused to a task, and why a pod may not be evicted",
    "PodAffinity": "as for NodeAffinity",
    "Reading": "of a custom record, and of its text",
    "Refusal": "of a request to the dashboard, and of events by the solver",
    "Source": "of what the dashboard shows, and of what an offline command reads",
    "Verdict": "of doctor on a check, of explain on a node, of a review on an eviction",
    "Wanted": "a right that doctor checks, and what rescheduling is asked for",
    "Window": "of metrics, and of batches that are on their way",
    "Workload": "that the demonstration makes, of scheduling.k8s.io, and of an application",
}
"""Names that several classes may have, and what they are."""


def classes() -> dict[str, list[str]]:
    """Files by the names of the classes in them. What a module keeps to itself counts within its own package."""
    found: dict[str, list[str]] = defaultdict(list)
    for place, node in iter_definitions(PACKAGES):
        if isinstance(node, ast.ClassDef) and not place.startswith(TESTBED):
            package = place.partition("/")[0]
            found[f"{package}: {node.name}" if node.name.startswith("_") else node.name].append(place)
    return found


def test_no_two_classes_have_one_name_and_mean_different_things():
    several = {name: places for name, places in classes().items() if len(places) > 1}
    of_the_bridge = {name for name in several if name.startswith("poseidon: _")}
    unexpected = {name: several[name] for name in several.keys() - ALLOWED.keys() - of_the_bridge}
    assert not unexpected, "name them by what tells them apart, or say above why they are the same"
    assert not ALLOWED.keys() - several.keys(), "one of them is left: it needs no exception any more"
