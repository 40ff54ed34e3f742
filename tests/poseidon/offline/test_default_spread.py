"""Pods that state no topology spread are kept apart by default, as kube-scheduler's system defaults ask for."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.poseidon.offline.objects import node

GPU = "nvidia.com/gpu"
OFF = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
podTopologySpread: {defaultingType: List}
scarceResources: {points: 0}
"""


def deployment(replicas, name="web"):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "main"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def made(name, *, zone="", gpus=0):
    labels = {"kubernetes.io/hostname": name, **({"topology.kubernetes.io/zone": zone} if zone else {})}
    found = node(name)
    found["metadata"]["labels"] = labels
    if gpus:
        found["status"]["allocatable"] |= {"cpu": "96", "memory": "768Gi", GPU: str(gpus)}
    return found


@pytest.fixture
def counts(run, write):
    """Return a function that plans objects and returns how many pods each node gets."""

    def planned(*objects, arguments=()):
        answer = run("plan", "-f", write(*objects), "-o", "json", *arguments).json
        assert answer["pending"] == []
        return Counter(each["node"] for each in answer["bindings"])

    return planned


def test_many_replicas_are_shared_out_evenly_gpu_nodes_included(counts):
    nodes = [made(f"n{index:02}", gpus=8 * (index < 4)) for index in range(20)]
    assert counts(*nodes, deployment(60)) == {f"n{index:02}": 3 for index in range(20)}


def test_three_replicas_are_in_three_zones(counts):
    nodes = [made(f"{zone}{index}", zone=zone) for zone in "abc" for index in range(3)]
    assert {name[0] for name in counts(*nodes, deployment(3))} == {"a", "b", "c"}


def test_three_plain_replicas_leave_the_gpu_node_alone(counts):
    nodes = [*(made(f"n{index}") for index in range(3)), made("gpu", gpus=8)]
    assert counts(*nodes, deployment(3)) == {"n0": 1, "n1": 1, "n2": 1}


def test_it_can_be_turned_off(counts, tmp_path):
    config = tmp_path / "off.yaml"
    config.write_text(OFF)
    nodes = [*(made(f"n{index}") for index in range(3)), made("gpu", gpus=8)]
    assert counts(*nodes, deployment(3), arguments=("--config", str(config))) == {"gpu": 3}


def test_pods_of_one_service_are_kept_apart_without_any_owner(counts):
    """Another service's pods, or pods of none, do not count."""
    nodes = [made(f"n{index}") for index in range(4)]
    web, db = (
        [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{app}-{index}", "namespace": "shop", "labels": {"app": app}},
                "spec": {"containers": [{"name": "main", "image": "main"}]},
            }
            for index in range(4)
        ]
        for app in ("web", "db")
    )
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    assert counts(*nodes, service, *web) == {f"n{index}": 1 for index in range(4)}
    assert sum(counts(*nodes, service, *web, *db).values()) == 8


CONSTRAINT = "defaultConstraints: [{{maxSkew: {skew}, topologyKey: rack, whenUnsatisfiable: {action}}}]"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("{defaultingType: Some}", "podTopologySpread.defaultingType"),
        (f"{{{CONSTRAINT.format(skew=1, action='ScheduleAnyway')}}}", "defaultingType List"),
        (f"{{defaultingType: List, {CONSTRAINT.format(skew=0, action='ScheduleAnyway')}}}", "maxSkew"),
        (
            f"{{defaultingType: List, {CONSTRAINT.format(skew=1, action='DoNotSchedule')}}}",
            "whenUnsatisfiable",
        ),
    ],
)
def test_bad_settings_are_one_line(run, write, tmp_path, section, told):
    config = tmp_path / "bad.yaml"
    config.write_text(
        f"apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\npodTopologySpread: {section}\n"
    )
    result = run("plan", "-f", write(made("n")), "--config", str(config))
    assert result.status == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
