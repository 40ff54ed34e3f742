"""What counts on a node while a pod is resized in place."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.pods import Pod
from poseidon.pods.requests_and_limits import effective_requests
from poseidon.pods.resizes import as_counted

INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def pod(resources, state, conditions=(), *, init=False, container=None, spec=None, status=None):
    """A pod of a container, or of an init container (``init``), as the API server would send it."""
    place, statuses = "containers", "containerStatuses"
    if init:
        place, statuses = "initContainers", "initContainerStatuses"
    described = {
        "spec": {
            "nodeName": "n",
            place: [{"name": "c", "resources": resources, **(container or {})}],
            **(spec or {}),
        },
        "status": {"conditions": list(conditions), statuses: [{"name": "c", **state}], **(status or {})},
    }
    return msgspec.convert(described, Pod)


def counted(found):
    defects: list = []
    amounts = effective_requests(as_counted(found).spec, defects)
    assert not defects
    return amounts


def held(actual, allocated):
    return {"resources": {"requests": actual}, "allocatedResources": allocated}


@pytest.mark.parametrize(
    ("asked", "actual", "allocated", "conditions", "cpu"),
    [
        ("1", "1", "1", (), 1000),
        ("2", "1", "1", (), 2000),  # a growth that the kubelet has not seen
        ("2", "1", "2", (), 2000),  # allocated, not carried out
        ("1", "2", "1", (), 2000),  # a shrink that the runtime has still to carry out
        ("1", "2", "2", (), 2000),  # a shrink that the kubelet has not seen
        ("500m", "1", "750m", (), 1000),
        ("4", "1", "1", (DEFERRED,), 4000),
        ("4", "1", "1", (INFEASIBLE,), 1000),
        ("4", "1", "2", (INFEASIBLE,), 2000),
        ("1000m", "1", "1.0", (), 1000),
        ("1", "nonsense", "2", (), 2000),
        ("1", "2", "nonsense", (), 2000),
    ],
)
def test_the_most_of_spec_allocated_and_actual_counts(asked, actual, allocated, conditions, cpu):
    found = pod({"requests": {"cpu": asked}}, held({"cpu": actual}, {"cpu": allocated}), conditions)
    assert counted(found) == {"cpu": cpu}


def test_a_pod_that_holds_what_it_asks_for_is_left_as_it_is():
    asked = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    found = pod({"requests": asked}, held(asked, asked))
    assert as_counted(found) is found


def test_a_kubelet_that_says_nothing_of_resources_changes_nothing():
    found = pod({"requests": {"cpu": "1"}}, {"allocatedResources": {"cpu": "5"}})
    assert as_counted(found) is found


def test_an_infeasible_resize_keeps_what_cannot_be_resized():
    asked = {"cpu": "9", "memory": "9Gi", "nvidia.com/gpu": "2"}
    found = pod({"requests": asked}, held({"cpu": "1", "memory": "1Gi"}, {}), (INFEASIBLE,))
    assert counted(found) == {"cpu": 1000, "memory": 2**30, "nvidia.com/gpu": 2}


def test_sidecars_count_as_they_run_and_init_containers_as_they_ask():
    asked, more = {"requests": {"cpu": "1"}}, held({"cpu": "3"}, {"cpu": "3"})
    assert counted(pod(asked, more, init=True, container={"restartPolicy": "Always"})) == {"cpu": 3000}
    assert counted(pod(asked, more, init=True)) == {"cpu": 1000}


def test_a_shrink_below_what_runs_is_no_defect():
    asked = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
    status = {
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        "allocatedResources": {"cpu": "100m"},
    }
    found = as_counted(pod(asked, status)).spec.containers[0].resources
    assert (found.requests, found.limits) == ({"cpu": "1"}, {"cpu": "1"})
    assert counted(pod(asked, status)) == {"cpu": 1000}


def test_a_limit_stands_for_a_request_that_is_not_stated():
    assert counted(pod({"limits": {"cpu": "2"}}, held({"cpu": "1"}, {"cpu": "1"}))) == {"cpu": 2000}


def test_requests_of_the_whole_pod_count_in_the_same_way():
    found = pod(
        {"requests": {"cpu": "1"}},
        {},
        spec={"resources": {"requests": {"cpu": "2"}}},
        status={"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}, "allocatedResources": {"cpu": "3"}},
    )
    assert counted(found) == {"cpu": 4000}


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 9), max_size=2)


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.booleans())
def test_it_is_the_maximum_by_resource(asked, actual, allocated, infeasible):
    def text(amounts):
        return {name: str(amount) for name, amount in amounts.items()}

    status = held(text(actual), text(allocated))
    found = counted(pod({"requests": text(asked)}, status, (INFEASIBLE,) if infeasible else ()))
    unit = {"cpu": 1000, "memory": 1}
    sides = [actual, allocated] if infeasible else [asked, actual, allocated]
    alike = all(asked.get(name) == amount for each in (actual, allocated) for name, amount in each.items())
    if alike:
        sides = [asked]
    expected = {name: max(Fraction(each.get(name, 0)) * unit[name] for each in sides) for name in unit}
    assert found == {name: int(amount) for name, amount in expected.items() if amount}
