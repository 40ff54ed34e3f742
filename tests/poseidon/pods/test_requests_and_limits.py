"""Effective requests of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.pods.requests_and_limits import effective_requests
from tests.poseidon.pods.builders import make_spec, requesting

SIDECAR: dict[str, Any] = {"restartPolicy": "Always"}


def requests(**spec):
    defects: list = []
    found = effective_requests(make_spec(**spec), defects)
    assert not defects
    return found


def faults(**spec):
    defects: list = []
    effective_requests(make_spec(**spec), defects)
    return [str(defect) for defect in defects]


def test_containers_add_up():
    containers = [requesting({"cpu": "100m", "memory": "1Gi"}), requesting({"cpu": 1})]
    assert requests(containers=containers) == {"cpu": 1100, "memory": 2**30}


def test_nothing_requested_is_nothing():
    assert requests(containers=[requesting({"cpu": 0})]) == {}


def test_a_missing_request_equals_the_limit():
    assert requests(containers=[requesting({"cpu": "1"}, {"cpu": "2", "memory": "1Ki"})]) == {
        "cpu": 1000,
        "memory": 1024,
    }


def test_an_explicit_zero_request_is_not_replaced_by_the_limit():
    assert requests(containers=[requesting({"cpu": 0}, {"cpu": 2})]) == {}


def test_an_init_container_counts_when_it_needs_more():
    given = {"containers": [requesting({"cpu": 1, "memory": 100})]}
    assert requests(**given, initContainers=[requesting({"cpu": 2, "memory": 50})]) == {
        "cpu": 2000,
        "memory": 100,
    }


def test_init_containers_run_one_after_the_other():
    inits = [requesting({"cpu": 2}), requesting({"cpu": 3})]
    assert requests(initContainers=inits) == {"cpu": 3000}


def test_sidecars_count_with_the_containers():
    inits = [requesting({"cpu": 1}, **SIDECAR)]
    assert requests(containers=[requesting({"cpu": 2})], initContainers=inits) == {"cpu": 3000}


def test_an_init_container_runs_beside_the_sidecars_before_it_only():
    later = [requesting({"cpu": 4}), requesting({"cpu": 1}, **SIDECAR)]
    assert requests(containers=[requesting({"cpu": 2})], initContainers=later) == {"cpu": 4000}
    assert requests(containers=[requesting({"cpu": 2})], initContainers=later[::-1]) == {"cpu": 5000}


def test_overhead_comes_on_top():
    assert requests(containers=[requesting({"cpu": 1})], overhead={"cpu": "250m"}) == {"cpu": 1250}


def test_pod_level_requests_replace_the_sum():
    given = [requesting({"cpu": 1, "memory": 10, "example.com/gpu": 1})]
    found = requests(containers=given, resources={"requests": {"cpu": 3}, "limits": {"cpu": 5, "memory": 99}})
    assert found == {"cpu": 3000, "memory": 10, "example.com/gpu": 1}


def test_a_pod_level_limit_stands_in_where_nothing_is_requested():
    assert requests(resources={"limits": {"memory": 99}}) == {"memory": 99}


def test_pod_level_resources_cover_cpu_memory_and_huge_pages_only():
    given = {"requests": {"example.com/gpu": 2, "hugepages-2Mi": "2Mi"}}
    assert requests(resources=given) == {"hugepages-2Mi": 2**21}


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (
            {"containers": [requesting({"cpu": "x"})]},
            (
                "spec.containers[0].resources.requests.cpu: 'x' is not a quantity; "
                "write a number with an optional unit, such as 2, 500m or 2Gi"
            ),
        ),
        (
            {"initContainers": [requesting({"memory": "-1"})]},
            "spec.initContainers[0].resources.requests.memory: '-1' is negative; give an amount of 0 or more",
        ),
        (
            {"containers": [requesting({"cpu": 2}, {"cpu": 1})]},
            "spec.containers[0].resources.requests.cpu: 2 exceeds the limit 1; lower the request or raise the limit",
        ),
        (
            {"overhead": {"cpu": "-1e99"}},
            "spec.overhead.cpu: '-1e99' is absurdly large; the largest amount is 2^53",
        ),
        (
            {"containers": [requesting({"": "1"})]},
            "spec.containers[0].resources.requests: a resource without a name; name it or remove it",
        ),
    ],
)
def test_faults_name_field_and_remedy(spec, line):
    assert faults(**spec) == [line]


def test_more_than_any_machine_has_counts_as_the_largest_amount():
    huge = requesting({"memory": 2**53})
    assert requests(containers=[huge, huge]) == {"memory": 2**53}
    assert requests(containers=[requesting({"memory": "1E", "cpu": "1e30"})]) == {
        "memory": 2**53,
        "cpu": 2**53,
    }
