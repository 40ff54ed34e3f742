"""What pods request of zones: as a whole, by container, and what a zone must have left for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cost_models.interface import ContainerRow, ShapeRow
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.requests import (
    HINT,
    NOT_ASKED,
    Requests,
    bad_hints,
    compile_requests,
    is_host_level,
    is_native,
    pods_of,
    resources_of,
)
from tests.cost_models.numa.builders import batch, container, shape

NAMES = ("cpu", "example.com/gpu", "memory")
UNASKED = [NOT_ASKED] * 3


def compiled(*rows: ShapeRow, **options: Any) -> Requests:
    made = NumaOptions(**options)
    return compile_requests(pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), made), NAMES, made)


def whole(
    *containers: ContainerRow, overhead: tuple[tuple[str, int], ...] = (), **options: Any
) -> dict[str, int]:
    """What the pod requests as a whole."""
    made = NumaOptions(**options)
    pods = pods_of([shape(*containers, overhead=overhead)], np.zeros((1, 1), np.int64), ("cpu",), made)
    return dict(pods[0].whole)


@pytest.mark.parametrize(
    ("containers", "expected", "by_kubelet"),
    [
        ([container("a", cpu=2), container("b", cpu=3)], 5, 5),
        ([container("i", "init", cpu=4), container("a", cpu=2)], 4, 4),
        ([container("i", "init", cpu=1), container("j", "init", cpu=4), container("a", cpu=5)], 5, 5),
        ([container("s", "sidecar", cpu=4), container("a", cpu=2)], 4, 6),
        ([container("s", "sidecar", cpu=4), container("i", "init", cpu=3), container("a", cpu=2)], 4, 7),
        ([container("i", "init", cpu=7), container("s", "sidecar", cpu=4), container("a", cpu=2)], 7, 7),
        (
            [
                container("s", "sidecar", cpu=1),
                container("t", "sidecar", cpu=2),
                container("i", "init", cpu=5),
            ],
            5,
            8,
        ),
        ([container("a", cpu=0)], None, None),
    ],
)
def test_a_pod_needs_its_containers_or_its_largest_init_container(
    containers: list[ContainerRow], expected: int | None, by_kubelet: int | None
):
    """A sidecar counts as an init container, or keeps what it takes from its start on, as the kubelet has it."""
    assert whole(*containers).get("cpu") == expected
    assert whole(*containers, kubelet_sidecars=True).get("cpu") == by_kubelet
    more = whole(*containers, overhead=(("cpu", 10), ("memory", 1)))
    assert more == {"cpu": 10 + (expected or 0), "memory": 1}


def test_thresholds_and_what_is_taken_of_a_guaranteed_pod():
    row = shape(
        container("i", "init", cpu=3, memory=1),
        container("a", cpu=1, memory=5),
        container("b", cpu=2, gpu=1),
    )
    made = compiled(row)
    assert made.apps.tolist() == [2]
    assert (made.names, made.init_names) == ((("", "a", "b"),), (("init container: i",),))
    assert made.amounts.tolist() == [[[3, 1, 5], [1, 0, 5], [2, 1, 0]]]
    assert made.taken.tolist() == made.amounts.tolist()
    asked = [[3, 1, 5], [1, NOT_ASKED, 5], [2, 1, NOT_ASKED]]
    assert made.threshold.tolist() == [asked]
    assert made.init_amounts.tolist() == [[[3, 0, 1]]]
    assert made.init_threshold.tolist() == [[[3, NOT_ASKED, 1]]]
    assert (made.guaranteed.tolist(), made.checked.tolist(), made.hint.tolist()) == ([True], [True], [0])


def test_of_other_pods_only_devices_are_taken():
    row = shape(container("i", "init", cpu=1, gpu=2), container("a", cpu=1, memory=5, gpu=1), qos="Burstable")
    made = compiled(row)
    assert made.taken.tolist() == [[[0, 2, 0], [0, 1, 0]]]
    assert made.threshold.tolist() == [[[0, 2, 0], [0, 1, 0]]]
    assert made.init_threshold.tolist() == [[[0, 2, NOT_ASKED]]]
    assert made.guaranteed.tolist() == [False]


def test_the_proposal_checks_only_cpu_of_guaranteed_pods_and_devices():
    containers = container("i", "init", cpu=1, memory=2), container("a", cpu=1, memory=5, gpu=1)
    made = compiled(shape(*containers), shape(*containers, qos="Burstable"), proposal=True)
    gpu = [NOT_ASKED, 1, NOT_ASKED]
    assert made.threshold.tolist() == [[[1, 1, NOT_ASKED]] * 2, [gpu] * 2]
    assert made.taken.tolist() == [[[1, 1, 0]] * 2, [[0, 1, 0]] * 2]
    assert made.init_threshold.tolist() == [[[1, NOT_ASKED, NOT_ASKED]], [UNASKED]]


def test_pods_of_different_numbers_of_containers_are_filled_up_with_nothing():
    made = compiled(
        shape(container("a", cpu=1)),
        shape(container("i", "init", cpu=1), container("a", cpu=1), container("b", cpu=2)),
    )
    assert made.threshold[0].tolist() == [[1, NOT_ASKED, NOT_ASKED]] * 2 + [UNASKED]
    assert made.init_threshold[0].tolist() == [UNASKED]
    one = made.alignment(np.array([0], dtype=np.int64))
    assert one.threshold[:, 0].tolist() == [[1]], "no more than its own"
    both = made.alignment(np.array([1, 0], dtype=np.int64))
    assert both.threshold[:, 0].tolist() == [[1, 1], [2, NOT_ASKED]]
    assert both.taken[:, 0].tolist() == [[1, 1], [2, 0]]
    assert both.init[:, 0].tolist() == [[1, NOT_ASKED]]


@pytest.mark.parametrize(
    ("init", "apps", "implied"),
    [
        ([], [5], True),
        ([], [5, 1], True),
        ([4], [5], True),
        ([5], [5], True),
        ([6], [5], False),
        ([4, 6], [5], False),
        ([1], [5, 1], False),
    ],
)
def test_init_containers_need_no_check_beside_one_container_that_is_as_large(
    init: list[int], apps: list[int], implied: bool
):
    row = shape(
        *(container(f"i{n}", "init", cpu=each) for n, each in enumerate(init)),
        *(container(f"a{n}", cpu=each) for n, each in enumerate(apps)),
    )
    assert compiled(row).init_implied.tolist() == [implied]
    assert compiled(row, shape(container("a"), container("b"), container("c"))).init_implied[0] == implied


@pytest.mark.parametrize(
    ("row", "checked"),
    [
        (shape(container("a", cpu=1)), True),
        (shape(container("a"), qos="BestEffort"), False),
        (shape(container("a")), False),
        (shape(container("a", gpu=1), qos="BestEffort"), True),
        (shape(container("i", "init", gpu=1), container("a"), qos="BestEffort"), True),
        (shape(container("a", memory=1), qos="BestEffort"), False),
        (shape(container("a", cpu=1), qos="Burstable"), True),
    ],
)
def test_pods_that_request_nothing_are_not_checked(row: ShapeRow, checked: bool):
    assert compiled(row).checked.tolist() == [checked]


class TestHints:
    def rows(self, *values: str) -> list[ShapeRow]:
        return [shape(container("a", cpu=1), annotations={HINT: value} if value else {}) for value in values]

    def test_the_weakest_policy_that_a_pod_accepts(self):
        rows = self.rows("", "none", "best-effort", "restricted", "single-numa-node", "never")
        assert compiled(*rows, pod_hints=True).hint.tolist() == [0, 0, 1, 2, 3, 0]
        assert compiled(*rows).hint.tolist() == [0] * 6

    def test_an_annotation_that_names_no_policy_is_noted_once(self):
        made = batch(self.rows("never", "", "none", "x" * 100, "never"), ("cpu",))
        notes = bad_hints(made, NumaOptions(pod_hints=True))
        assert len(notes) == 2
        assert notes[0].startswith(f"annotation {HINT} of a pod is 'never'; it must be one of none, ")
        assert repr("x" * 80) in notes[1]
        assert bad_hints(made, NumaOptions()) == []


def test_a_task_without_described_containers_is_one_guaranteed_container():
    options = NumaOptions()
    requests = np.array([[500, 7, 1, 0]], dtype=np.int64)
    pods = pods_of([shape(qos="")], requests, ("cpu", "memory", "pods", "example.com/gpu"), options)
    assert (pods[0].guaranteed, pods[0].best_effort) == (True, False)
    assert [each.requests for each in pods[0].apps] == [(("cpu", 500), ("memory", 7))]
    assert resources_of(pods) == ["cpu", "memory"]


def test_resources_are_those_that_any_container_requests():
    rows = [
        shape(container("i", "init", memory=1), container("a", cpu=1, gpu=0)),
        shape(container("a", cpu=1), overhead=(("x", 1),)),
    ]
    assert resources_of(pods_of(rows, np.zeros((2, 1), np.int64), ("cpu",), NumaOptions())) == [
        "cpu",
        "memory",
        "x",
    ]


@pytest.mark.parametrize(
    ("name", "native", "host"),
    [
        ("cpu", True, False),
        ("memory", True, False),
        ("hugepages-2Mi", True, False),
        ("ephemeral-storage", False, True),
        ("storage", False, True),
        ("example.com/gpu", False, True),
        ("pods", False, False),
    ],
)
def test_kinds_of_resources(name: str, native: bool, host: bool):
    assert (is_native(name), is_host_level(name)) == (native, host)
