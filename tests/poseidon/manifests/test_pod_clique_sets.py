"""PodCliqueSets of Grove: the gangs and pods that its operator makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.poseidon.manifests.objects import pod
from tests.poseidon.manifests.test_families import labels_of, made, names


def clique(name: str, replicas: int, *, domain: str = "", **spec: Any) -> dict[str, Any]:
    spec = {"replicas": replicas, "podSpec": {"containers": [{"name": "c"}]}, **spec}
    topology = {"topologyConstraint": {"packDomain": domain}} if domain else {}
    return {"name": name, "labels": {"app": name}, "spec": spec, **topology}


TOPOLOGY = made(
    "grove.io/v1alpha1",
    "ClusterTopology",
    "grove-topology",
    metadata={"namespace": ""},
    levels=[{"domain": "zone", "key": "zone"}, {"domain": "rack", "key": "rack"}],
)
SET = made(
    "grove.io/v1alpha1",
    "PodCliqueSet",
    replicas=1,
    template={
        "topologyConstraint": {"packDomain": "zone"},
        "cliques": [clique("front", 2, minAvailable=1), clique("lead", 1), clique("work", 2, domain="rack")],
        "podCliqueScalingGroups": [
            {
                "name": "serve",
                "cliqueNames": ["lead", "work"],
                "replicas": 3,
                "minAvailable": 2,
                "topologyConstraint": {"packDomain": "rack"},
            }
        ],
    },
)
GANG_LABEL = "grove.io/podgang"


def gangs_of(loaded: Any) -> dict[str, Any]:
    return {each.metadata.name: each.spec for each in loaded.for_models}


def test_each_replica_is_a_gang_and_so_is_each_further_replica_of_a_scaling_group(load):
    loaded = load(SET, TOPOLOGY)
    assert not loaded.warnings
    gangs = gangs_of(loaded)
    least = {name: {each.name: each.min_replicas for each in gang.podgroups} for name, gang in gangs.items()}
    assert least == {
        "w-0": {
            "w-0-front": 1,
            "w-0-serve-0-lead": 1,
            "w-0-serve-0-work": 2,
            "w-0-serve-1-lead": 1,
            "w-0-serve-1-work": 2,
        },
        "w-0-serve-0": {"w-0-serve-2-lead": 1, "w-0-serve-2-work": 2},
    }
    assert names(loaded) == sorted(
        [
            "w-0-front-0",
            "w-0-front-1",
            *(f"w-0-serve-{at}-{each}" for at in range(3) for each in ("lead-0", "work-0", "work-1")),
        ]
    )
    assert labels_of(loaded, "w-0-front-1")[GANG_LABEL] == "w-0"
    assert labels_of(loaded, "w-0-serve-2-work-0") == {
        "app": "work",
        "app.kubernetes.io/part-of": "w",
        "grove.io/podclique": "w-0-serve-2-work",
        "grove.io/podclique-pod-index": "0",
        GANG_LABEL: "w-0-serve-0",
    }


def test_domains_are_labels_by_the_topology(load):
    gangs = gangs_of(load(SET, TOPOLOGY))

    def required(stated: Any) -> str:
        return stated.topology_constraint.pack_constraint.required if stated.topology_constraint else ""

    whole, further = gangs["w-0"], gangs["w-0-serve-0"]
    assert (required(whole), required(further)) == ("zone", "")
    assert [(each.pod_group_names, required(each)) for each in whole.topology_constraint_group_configs] == [
        ((f"w-0-serve-{at}-lead", f"w-0-serve-{at}-work"), "rack") for at in range(2)
    ]
    assert {each.name: required(each) for each in further.podgroups} == {
        "w-0-serve-2-lead": "",
        "w-0-serve-2-work": "rack",
    }


def test_gangs_and_pods_of_the_input_are_not_made_again(load):
    controller = {"kind": "PodCliqueSet", "name": "w", "uid": "u", "controller": True}
    gang = made(
        "scheduler.grove.io/v1alpha1",
        "PodGang",
        metadata={
            "name": "w-0-8f5c-0",
            "ownerReferences": [{"apiVersion": "grove.io/v1alpha1", **controller}],
        },
        podgroups=[{"name": "w-0-front", "minReplicas": 1}, {"name": "w-0-serve-0-lead", "minReplicas": 1}],
    )
    labels = {"app.kubernetes.io/part-of": "w", "grove.io/podclique": "w-0-front", GANG_LABEL: "w-0-8f5c-0"}
    loaded = load(SET, TOPOLOGY, gang, pod("w-0-front-xyz", labels=labels))
    assert sorted(gangs_of(loaded)) == ["w-0-8f5c-0", "w-0-serve-0"]
    assert len(loaded.pods) == 11
    assert labels_of(loaded, "w-0-serve-0-lead-0")[GANG_LABEL] == "w-0-8f5c-0"


@pytest.mark.parametrize(
    ("objects", "what"),
    [
        ([SET], "packDomain: no ClusterTopology in the input has the domain rack"),
        (
            [
                made(
                    "grove.io/v1alpha1",
                    "PodCliqueSet",
                    replicas=1,
                    template={
                        "cliques": [clique("a", 1)],
                        "podCliqueScalingGroups": [{"name": "s", "cliqueNames": ["b"]}],
                    },
                )
            ],
            "cliqueNames: there is no clique 'b'",
        ),
    ],
)
def test_one_that_makes_no_sense_is_left_out_with_a_warning(load, objects, what):
    loaded = load(*objects)
    assert not loaded.pods
    assert not loaded.for_models
    (line,) = loaded.warnings
    assert what in line
