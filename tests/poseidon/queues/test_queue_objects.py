"""Objects of queues by project: which of several counts, and which quota a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.kinds import WatchedKind
from poseidon.pods.priority_classes import LOWEST
from poseidon.queues.options import QueueOptions, QueueSource
from poseidon.queues.queue_names import QueueReference
from poseidon.queues.queue_objects import MOST_STATED, SHELVES, KueueQueues, QueueObjects
from tests.poseidon.queues.objects import (
    cluster_queue,
    elastic_quota,
    kai_queue,
    local_queue,
    quotas,
    volcano_queue,
    workload_priority,
)

NAMESPACES = "quota.scheduling.koordinator.sh/namespaces"
IS_PARENT = "quota.scheduling.koordinator.sh/is-parent"
PARENT = {"labels": {IS_PARENT: "true"}}
ALSO = {"annotations": {NAMESPACES: '["other"]'}}


def struct(kind: WatchedKind, found: dict) -> Any:
    return convert_object(found, kind.resource.kind)


def shelf_of(source: QueueSource, *found: tuple[WatchedKind, dict]) -> Any:
    shelf = SHELVES[source](QueueOptions(source=(source,)))
    for number, (kind, each) in enumerate(found):
        shelf.objects.put(kind, f"u{number}", struct(kind, each))
    shelf.read_quotas()
    return shelf


def resolve(source: QueueSource, found: Sequence[tuple[WatchedKind, dict]], namespace: str, name: str) -> Any:
    return shelf_of(source, *found).resolve(QueueReference(source, namespace, name), {"team": "a"})


def koordinator(name: str, namespace: str = "shop", **more: Any) -> tuple[WatchedKind, dict]:
    return kinds.KOORDINATOR_QUOTA, elastic_quota(name, namespace, koordinator=True, min={"cpu": 1}, **more)


def of_kueue(*, selector: dict | None = None, **local: Any) -> list[tuple[WatchedKind, dict]]:
    queue = cluster_queue("cq", quotas(cpu=4), namespaceSelector=selector)
    return [(kinds.CLUSTER_QUEUE, queue), (kinds.LOCAL_QUEUE, local_queue("lq", "cq", **local))]


KAI = [
    (kinds.KAI_QUEUE, kai_queue("dept")),
    (kinds.KAI_QUEUE, kai_queue("team", parentQueue="dept")),
]
VOLCANO = [(kinds.VOLCANO_QUEUE, volcano_queue("v"))]
PLUGINS = [
    (kinds.ELASTIC_QUOTA, elastic_quota(name, namespace, min={"cpu": 1}))
    for name, namespace in (("b", "shop"), ("a", "shop"), ("c", "zoo"))
]
KOORDINATOR = [
    koordinator("z-own"),
    koordinator("a-parent", metadata=PARENT),
    koordinator("wide", "sys", metadata=ALSO),
]


@pytest.mark.parametrize(
    ("source", "found", "namespace", "name", "quota", "problem"),
    [
        ("kueue", of_kueue(selector={}), "shop", "lq", "ClusterQueue/cq", ""),
        ("kueue", of_kueue(selector={"matchLabels": {"team": "a"}}), "shop", "lq", "ClusterQueue/cq", ""),
        (
            "kueue",
            of_kueue(selector={"matchLabels": {"team": "b"}}),
            "shop",
            "lq",
            "ClusterQueue/cq",
            "ClusterQueue cq does not take pods of namespace shop (spec.namespaceSelector)",
        ),
        ("kueue", of_kueue(), "shop", "lq", "ClusterQueue/cq", "does not take pods of namespace shop"),
        ("kueue", of_kueue(selector={}), "other", "lq", "", "LocalQueue other/lq does not exist"),
        ("kueue", of_kueue(selector={})[1:], "shop", "lq", "", "names ClusterQueue cq, which does not exist"),
        *(
            ("kueue", of_kueue(selector={}, stopPolicy=policy), "shop", "lq", "ClusterQueue/cq", problem)
            for policy, problem in (("None", ""), ("Hold", "is stopped"), ("HoldAndDrain", "is stopped"))
        ),
        ("volcano", VOLCANO, "shop", "v", "VolcanoQueue/v", ""),
        ("volcano", VOLCANO, "shop", "default", "", ""),
        ("volcano", VOLCANO, "shop", "w", "", "queue: Queue w (Volcano) does not exist"),
        ("kai", KAI, "shop", "team", "KaiQueue/team", ""),
        ("kai", KAI, "shop", "dept", "KaiQueue/dept", "Queue dept (KAI) has queues below it"),
        ("kai", KAI, "shop", "default", "", "Queue default (KAI) does not exist"),
        ("scheduler-plugins", PLUGINS, "shop", "", "ElasticQuota/shop/a", ""),
        ("scheduler-plugins", PLUGINS, "zoo", "", "ElasticQuota/zoo/c", ""),
        ("scheduler-plugins", PLUGINS, "other", "", "", ""),
        ("koordinator", KOORDINATOR, "shop", "", "KoordinatorQuota/z-own", ""),
        ("koordinator", KOORDINATOR, "other", "", "KoordinatorQuota/wide", ""),
        ("koordinator", KOORDINATOR, "sys", "wide", "KoordinatorQuota/wide", ""),
        ("koordinator", KOORDINATOR, "nowhere", "", "", ""),
        ("koordinator", KOORDINATOR, "shop", "a-parent", "KoordinatorQuota/a-parent", "has quotas below it"),
        ("koordinator", KOORDINATOR, "shop", "wide", "", f"list it in its annotation {NAMESPACES}"),
        ("koordinator", KOORDINATOR, "shop", "gone", "", "ElasticQuota gone (Koordinator) does not exist"),
        ("koordinator", [koordinator("b"), koordinator("a")], "shop", "", "KoordinatorQuota/a", ""),
    ],
)
def test_which_quota_a_name_stands_for_and_why_pods_wait(source, found, namespace, name, quota, problem):
    answer = resolve(source, found, namespace, name)
    assert answer.quota == quota
    assert problem in answer.problem
    assert bool(answer.problem) is bool(problem)


def test_a_late_deletion_spares_a_newer_object_of_the_same_name():
    objects = QueueObjects((kinds.VOLCANO_QUEUE,))
    for uid, weight in (("old", 1), ("new", 2)):
        objects.put(kinds.VOLCANO_QUEUE, uid, struct(kinds.VOLCANO_QUEUE, volcano_queue("v", weight=weight)))
    objects.remove(kinds.VOLCANO_QUEUE, "old")
    objects.remove(kinds.VOLCANO_QUEUE, "unknown")
    named = objects.find_named(kinds.VOLCANO_QUEUE, "VolcanoQueue", "VolcanoQueue/v")
    assert named is not None
    assert (named[0], named[1].spec.weight) == (kinds.VOLCANO_QUEUE, 2)
    assert objects.find_named(kinds.VOLCANO_QUEUE, "VolcanoQueue", "KaiQueue/v") is None
    assert objects.find_named(kinds.VOLCANO_QUEUE, "VolcanoQueue", "VolcanoQueue/w") is None
    objects.remove(kinds.VOLCANO_QUEUE, "new")
    assert objects.find_named(kinds.VOLCANO_QUEUE, "VolcanoQueue", "VolcanoQueue/v") is None


def test_objects_of_namespaces_are_found_by_both_names():
    shelf = shelf_of("scheduler-plugins", *PLUGINS)
    kind, found = shelf.find("ElasticQuota/shop/b")
    assert (kind, found.metadata.name, found.metadata.namespace) == (kinds.ELASTIC_QUOTA, "b", "shop")
    assert shelf.find("ElasticQuota/zoo/b") is None


def test_priorities_of_workloads_are_within_those_of_users():
    values = {"low": -(2**40), "usual": 7, "high": MOST_STATED + 1}
    listed = [
        (kinds.WORKLOAD_PRIORITY_CLASS, workload_priority(name, value)) for name, value in values.items()
    ]
    shelf = shelf_of("kueue", *listed)
    assert shelf.priorities == {"low": LOWEST, "usual": 7, "high": MOST_STATED}


def test_local_queues_are_listed_by_their_cluster_queue():
    shelf = shelf_of(
        "kueue",
        *(
            (kinds.LOCAL_QUEUE, local_queue(name, queue))
            for name, queue in (("a", "x"), ("b", "y"), ("c", "x"))
        ),
    )
    assert isinstance(shelf, KueueQueues)
    found = {name: [each.metadata.name for each in queues] for name, queues in shelf.local_queues.items()}
    assert found == {"x": ["a", "c"], "y": ["b"]}
