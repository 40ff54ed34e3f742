"""What models of use see of a pod: limits, quality of service, Koordinator's priority class, containers, times."""

from __future__ import annotations

import pytest

from poseidon.bridge.solver_stream.events import encode_placed
from poseidon.kube.api.metadata import Condition, ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Container, Pod, PodSpec, PodStatus
from poseidon.kube.api.pods import ResourceRequirements as Resources
from poseidon.pods.classes import ClassTable
from poseidon.pods.koordinator_priority import service_class
from poseidon.pods.priority_classes import PriorityResolver
from poseidon.pods.requests_and_limits import effective_limits, quality_of_service
from poseidon.pods.tasks import translate_pod
from tests.support.needs import visible
from tests.support.task_classes import class_content

LOAD = visible("cpu_mem", "load_threshold")


def container(requests=None, limits=None, **more):
    return Container(name="c", resources=Resources(requests=requests or {}, limits=limits or {}), **more)


def spec(*containers, **more):
    return PodSpec(containers=containers, **more)


def pod(spec, *, labels=None, annotations=None, owner="", conditions=()):
    owners = (OwnerReference(kind=owner, name="o", uid="o"),) if owner else ()
    metadata = ObjectMeta(
        name="p", uid="p", labels=labels or {}, annotations=annotations or {}, owner_references=owners
    )
    return Pod(metadata=metadata, spec=spec, status=PodStatus(conditions=conditions))


BOTH: dict[str, str | int | float] = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("given", "quality"),
    [
        (spec(container()), "BestEffort"),
        (spec(container({"cpu": "0"})), "BestEffort"),
        (spec(container({"example.com/gpu": "1"})), "BestEffort"),
        (spec(container({"cpu": "1"})), "Burstable"),
        (spec(container(limits=BOTH)), "Guaranteed"),
        (spec(container(BOTH, BOTH)), "Guaranteed"),
        (spec(container(BOTH, {**BOTH, "cpu": "2"})), "Burstable"),
        (spec(container(limits=BOTH), container()), "Burstable"),
        (spec(container(limits=BOTH), init_containers=(container(),)), "Burstable"),
        (spec(container(), resources=Resources(limits=BOTH)), "Guaranteed"),
        (spec(container({"cpu": "x"})), "BestEffort"),
    ],
)
def test_quality_of_service(given, quality):
    assert quality_of_service(given) == quality


@pytest.mark.parametrize(
    ("labels", "priority", "requests", "expected"),
    [
        ({}, None, {"cpu": "1"}, "koord-prod"),
        ({}, 0, {}, "koord-batch"),
        ({}, 9000, {}, "koord-prod"),
        ({}, 9999, {}, "koord-prod"),
        ({}, 10000, {}, "koord-batch"),
        ({}, 8999, {"cpu": "1"}, "koord-prod"),
        ({}, 7500, {"cpu": "1"}, "koord-mid"),
        ({}, 5000, {"cpu": "1"}, "koord-batch"),
        ({}, 3999, {"cpu": "1"}, "koord-free"),
        ({"koordinator.sh/priority-class": "koord-mid"}, 9500, {"cpu": "1"}, "koord-mid"),
        ({"koordinator.sh/priority-class": "gold"}, 5500, {"cpu": "1"}, "koord-prod"),
        ({"koordinator.sh/priority-class": "gold"}, 9500, {}, "koord-batch"),
        ({"koordinator.sh/priority-class": "gold", "koordinator.sh/qosClass": "LSR"}, 0, {}, "koord-prod"),
        ({"koordinator.sh/qosClass": "BE"}, 0, {"cpu": "1"}, "koord-batch"),
        ({"koordinator.sh/qosClass": "LSR"}, 0, {}, "koord-prod"),
        ({"koordinator.sh/qosClass": "gold"}, 0, {}, "koord-batch"),
        ({"koordinator.sh/qosClass": "BE"}, 9500, {"cpu": "1"}, "koord-prod"),
    ],
)
def test_service_class(labels, priority, requests, expected):
    assert service_class(pod(spec(container(requests)), labels=labels), priority) == expected


def test_limits_follow_the_rules_for_requests_but_for_the_overhead():
    defects: list = []
    given = spec(
        container(limits={"cpu": "1", "memory": "1Gi"}),
        container({"cpu": "10"}),
        init_containers=(
            container(limits={"cpu": "500m"}, restart_policy="Always"),
            container(limits={"cpu": "3", "ephemeral-storage": "5"}),
        ),
        overhead={"cpu": "100m", "example.com/x": "7"},
    )
    assert effective_limits(given, defects) == {"cpu": 3600, "memory": 2**30, "ephemeral-storage": 5}
    whole = spec(container(limits=BOTH), resources=Resources(limits={"cpu": "4", "example.com/x": "7"}))
    assert effective_limits(whole, defects) == {"cpu": 4000, "memory": 2**30}
    assert defects == []


def test_details_travel_only_to_models_that_look_at_them():
    annotations = {
        "scheduling.koordinator.sh/load-estimated-scaling-factors": '{"cpu": 80}',
        "example.com/note": "x",
    }
    given = pod(spec(container({"cpu": "1"}, {"cpu": "2"})), annotations=annotations)
    plain, _ = class_content(given, visible("cpu_mem"), daemon=True)
    detail = ("limits", "service_class", "daemon", "containers", "qos")
    assert not any(getattr(plain, field) for field in detail)
    assert dict(plain.annotations) == {}
    detailed, _ = class_content(given, LOAD, daemon=True)
    assert [(each.resource, each.amount) for each in detailed.limits] == [("cpu", 2000)]
    assert (detailed.service_class, detailed.daemon, detailed.qos) == ("koord-prod", True, "")
    assert list(detailed.annotations) == ["scheduling.koordinator.sh/load-estimated-scaling-factors"]
    [only] = detailed.containers
    assert [(each.resource, each.amount) for each in only.requests] == [("cpu", 1000)]
    assert [(each.resource, each.amount) for each in only.limits] == [("cpu", 2000)]


def test_classes_differ_by_service_class_and_owner_only_if_someone_looks():
    given = spec(container({"cpu": "1"}))
    pods = [
        pod(given),
        pod(given, labels={"koordinator.sh/priority-class": "koord-batch"}),
        pod(given, labels={"of": "daemon"}),
    ]
    for visibility, classes in ((visible("cpu_mem"), 1), (LOAD, 3)):
        table = ClassTable(visibility, lambda each: "of" in each.metadata.labels)
        assert len({table.intern(each) for each in pods}) == classes


def test_a_class_named_by_the_priority_class_counts_as_resolved():
    from poseidon.kube.api.nodes import PriorityClass

    priorities = PriorityResolver(
        [PriorityClass(metadata=ObjectMeta(name="batch"), value=5500, global_default=False)]
    )
    table = ClassTable(LOAD)
    given = pod(spec(container({"cpu": "1"}), priority_class_name="batch"))
    number = translate_pod(given, table, priorities).task_class
    assert table.message(number).service_class == "koord-batch"


def test_times_of_conditions_travel_with_bound_tasks():
    conditions = (
        Condition(type="PodScheduled", status="True", last_transition_time="2026-01-01T00:00:00Z"),
        Condition(type="Initialized", status="True", last_transition_time="2026-01-01T00:00:10Z"),
    )
    given = pod(spec(container({"cpu": "1"})), conditions=conditions)
    waiting = pod(spec(container({"cpu": "1"})), conditions=(Condition(type="Initialized", status="False"),))
    priorities = PriorityResolver()
    table = ClassTable(LOAD)
    tasks = [(translate_pod(each, table, priorities), "n1", False) for each in (given, waiting)]
    [event] = encode_placed(tasks)
    assert list(event.bound.assigned) == [1767225600.0, 0.0]
    assert list(event.bound.initialized) == [1767225610.0, 0.0]
    by_use = ClassTable(visible("cpu_mem"))
    [event] = encode_placed([(translate_pod(given, by_use, priorities), "n1", False)])
    assert list(event.bound.assigned) == [1767225600.0], (
        "the default policy adds what reports cannot show yet"
    )
    plain = ClassTable(visible("trivial"))
    [event] = encode_placed([(translate_pod(given, plain, priorities), "n1", False)])
    assert not event.bound.assigned
    assert not event.bound.initialized
