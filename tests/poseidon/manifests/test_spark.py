"""Applications of Spark: a driver and its executors, with what they request."""

from __future__ import annotations

from typing import Any

import pytest

API = "sparkoperator.k8s.io/v1beta2"


def application(
    *, status: Any = None, driver: Any = None, executor: Any = None, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "shop"},
        "spec": {"type": "Scala", "driver": driver or {}, "executor": executor or {}, **spec},
        "status": status or {},
    }


def names(loaded: Any) -> list[str]:
    return [each.metadata.name for each in loaded.pods]


@pytest.mark.parametrize(
    ("spec", "executors"),
    [
        ({}, 1),
        ({"executor": {"instances": 3}}, 3),
        ({"executor": {"instances": 0}}, 0),
        ({"executor": {"instances": 3}, "dynamicAllocation": {"enabled": True, "minExecutors": 2}}, 2),
        ({"dynamicAllocation": {"enabled": True, "initialExecutors": 4, "minExecutors": 2}}, 4),
        ({"dynamicAllocation": {"enabled": True, "initialExecutors": 1, "minExecutors": 2}}, 2),
        ({"dynamicAllocation": {"enabled": True}}, 0),
        ({"dynamicAllocation": {"enabled": False, "minExecutors": 9}}, 1),
    ],
)
def test_an_application_has_a_driver_and_executors(load, spec, executors):
    found = names(load(application(**spec)))
    assert found == ["pi-driver", *(f"pi-exec-{number}" for number in range(1, executors + 1))]


@pytest.mark.parametrize(
    "more",
    [
        {"suspend": True},
        {"status": {"applicationState": {"state": "COMPLETED"}}},
        {"status": {"applicationState": {"state": "FAILED"}}},
    ],
)
def test_what_is_suspended_or_over_has_no_pods(load, more):
    assert names(load(application(**more))) == []


def requests(pod: Any) -> dict[str, Any]:
    return dict(pod.spec.containers[0].resources.requests)


@pytest.mark.parametrize(
    ("part", "spec", "asked"),
    [
        ({}, {}, {"cpu": 1, "memory": "1408Mi"}),
        ({"cores": 2, "memory": "10g"}, {}, {"cpu": 2, "memory": "11264Mi"}),
        ({"cores": 2, "coreRequest": "500m", "memory": "512m"}, {}, {"cpu": "500m", "memory": "896Mi"}),
        ({"memory": "1g", "memoryOverhead": "100m"}, {}, {"cpu": 1, "memory": "1124Mi"}),
        ({"memory": "10g"}, {"memoryOverheadFactor": "0.5"}, {"cpu": 1, "memory": "15360Mi"}),
        ({"memory": "10g"}, {"type": "Python"}, {"cpu": 1, "memory": "14336Mi"}),
        (
            {"gpu": {"name": "nvidia.com/gpu", "quantity": 2}},
            {},
            {"cpu": 1, "memory": "1408Mi", "nvidia.com/gpu": 2},
        ),
    ],
)
def test_memory_has_its_overhead(load, part, spec, asked):
    driver, executor = load(application(driver=part, executor=part, **spec)).pods
    assert requests(driver) == requests(executor) == asked


def test_limits_are_those_stated_and_memory_may_not_be_exceeded(load):
    driver, _ = load(application(driver={"coreLimit": "3", "memory": "1g"})).pods
    limits = driver.spec.containers[0].resources.limits
    assert dict(limits) == {"cpu": "3", "memory": "1408Mi"}


def test_pods_are_described_by_their_part_and_the_application(load):
    driver = {
        "labels": {"a": "part"},
        "annotations": {"note": "x"},
        "schedulerName": "own",
        "sidecars": [{"name": "log"}],
        "template": {
            "metadata": {"labels": {"a": "template", "b": "2"}},
            "spec": {"containers": [{"name": "x", "ports": []}, {"name": "more"}], "hostNetwork": True},
        },
    }
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    first, second = load(
        high,
        application(
            driver=driver,
            nodeSelector={"disk": "ssd"},
            batchScheduler="batch",
            batchSchedulerOptions={"priorityClassName": "high"},
        ),
    ).pods
    assert [each.name for each in first.spec.containers] == ["spark-kubernetes-driver", "more", "log"]
    assert [each.name for each in second.spec.containers] == ["spark-kubernetes-executor"]
    assert (first.spec.scheduler_name, second.spec.scheduler_name) == ("own", "batch")
    assert second.spec.priority_class_name == "high"
    assert second.spec.node_selector == {"disk": "ssd"}
    assert first.spec.host_network
    labels = first.metadata.labels
    assert {key: labels[key] for key in ("a", "b", "spark-role", "spark-app-name")} == {
        "a": "part",
        "b": "2",
        "spark-role": "driver",
        "spark-app-name": "pi",
    }
    assert first.metadata.annotations["note"] == "x"
