"""What is written into the statuses of queues, and when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.write.patch_writer import QueueStatusWrite
from poseidon.lifecycle.actions import AnnounceGroup
from poseidon.queues.statuses import PAUSE_SECONDS
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.queues.objects import (
    cluster_queue,
    elastic_quota,
    flavor,
    local_queue,
    quotas,
    volcano_queue,
)
from tests.poseidon.queues.test_known_queues import Stage, kueue, queued


def take(stage):
    """Statuses by kind and name, and events, that the bridge would write now."""
    stage.state.take_events()
    stage.state.expire()
    actions = stage.state.take_actions()
    writes = {
        (each.collection.rpartition("/")[2], each.name): each.status
        for each in actions
        if isinstance(each, QueueStatusWrite)
    }
    return writes, [each for each in actions if isinstance(each, AnnounceGroup)]


def used(name, *, cpu=0, borrowed=0, flavor="default"):
    use = pb.QuotaUse(flavor=flavor, resource="cpu", used=cpu, borrowed=borrowed)
    return pb.RoundResult(queues=[pb.QueueState(name=name, uses=[use])])


def test_a_queue_is_active_once_it_is_known():
    writes, _ = take(kueue())
    (condition,) = writes["clusterqueues", "team"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Active", "True", "Ready")
    assert writes["localqueues", "users"]["conditions"][0]["status"] == "True"


def test_what_makes_no_sense_is_said_on_the_queue_itself():
    stage = Stage().tell(
        flavor(), cluster_queue("bad", quotas(cpu="x")), cluster_queue("good", quotas(cpu=1))
    )
    writes, _ = take(stage)
    (condition,) = writes["clusterqueues", "bad"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
    assert "nominalQuota" in condition["message"]
    assert writes["clusterqueues", "good"]["conditions"][0]["status"] == "True"


def test_workloads_and_use_are_counted():
    stage = kueue()
    running = queued("b")
    stage.add(queued("a"), replace(running, spec=replace(running.spec, node_name="n1")))
    stage.state.take_events()
    stage.state.on_round(used("ClusterQueue/team", cpu=1500, borrowed=500))
    writes, _ = take(stage)
    status = writes["clusterqueues", "team"]
    assert (status["pendingWorkloads"], status["admittedWorkloads"], status["reservingWorkloads"]) == (
        1,
        1,
        1,
    )
    assert status["flavorsUsage"] == [
        {"name": "default", "resources": [{"name": "cpu", "total": "1500m", "borrowed": "500m"}]}
    ]
    assert status["flavorsReservation"] == status["flavorsUsage"]
    assert writes["localqueues", "users"]["pendingWorkloads"] == 1


def test_workloads_that_come_and_go_are_counted_while_the_use_stays():
    stage = kueue()
    take(stage)
    counts = []
    for act in (
        lambda: stage.add(queued("a"), queued("b")),
        lambda: stage.end_pod("a"),
        lambda: stage.end_pod("b"),
    ):
        act()
        stage.now += PAUSE_SECONDS
        status = take(stage)[0]["clusterqueues", "team"]
        counts.append((status["pendingWorkloads"], status["admittedWorkloads"]))
    assert counts == [(2, 0), (1, 0), (0, 0)]
    stage.now += PAUSE_SECONDS
    assert take(stage)[0] == {}


@pytest.mark.parametrize(("borrowed", "more"), [(0, {}), (1, {"borrowed": "1m"})])
def test_what_a_queue_has_borrowed_is_told_from_the_first_unit_on(borrowed, more):
    stage = kueue()
    stage.state.take_events()
    stage.state.on_round(used("ClusterQueue/team", cpu=5, borrowed=borrowed))
    [flavor_usage] = take(stage)[0]["clusterqueues", "team"]["flavorsUsage"]
    assert flavor_usage["resources"] == [{"name": "cpu", "total": "5m", **more}]


def test_only_what_has_changed_is_written():
    stage = kueue()
    assert take(stage)[0]
    assert take(stage)[0] == {}
    stage.now += PAUSE_SECONDS
    stage.state.on_round(used("ClusterQueue/team"))
    assert take(stage)[0].keys() == {("clusterqueues", "team")}
    stage.now += PAUSE_SECONDS
    stage.state.on_round(used("ClusterQueue/team"))
    assert take(stage)[0] == {}


def test_use_that_keeps_changing_is_written_once_per_pause():
    stage = kueue()
    take(stage)
    stage.now += PAUSE_SECONDS
    written = []
    for second in range(10):
        stage.state.on_round(used("ClusterQueue/team", cpu=1000 * second))
        status = take(stage)[0].get(("clusterqueues", "team"))
        if status is not None:
            written.append((second, status["flavorsUsage"][0]["resources"][0]["total"]))
        stage.now += 1.0
    assert written == [(0, "0"), (5, "5")]
    assert take(stage)[0]["clusterqueues", "team"]["flavorsUsage"][0]["resources"][0]["total"] == "9"


def test_a_queue_that_is_changed_says_so_at_once():
    stage = kueue()
    take(stage)
    stage.tell(cluster_queue("team", quotas(cpu="x")))
    (condition,) = take(stage)[0]["clusterqueues", "team"]["conditions"]
    assert condition["status"] == "False"


def test_pods_are_counted_where_their_local_queue_leads_however_late_it_comes():
    stage = Stage().tell(
        flavor(), cluster_queue("team", quotas(cpu=1)), cluster_queue("other", quotas(cpu=1))
    )
    stage.add(queued("a"), queued("b"))
    take(stage)
    counts = []
    for target in ("team", "other"):
        stage.tell(local_queue("users", target))
        stage.now += PAUSE_SECONDS
        written = take(stage)[0]
        counts.append(
            {
                name: status["pendingWorkloads"]
                for (kind, name), status in written.items()
                if kind == "clusterqueues"
            }
        )
    assert counts == [{"team": 2}, {"team": 0, "other": 2}]


def test_the_first_word_of_the_solver_is_written_at_once():
    stage = kueue()
    take(stage)
    stage.state.on_round(used("ClusterQueue/team", cpu=1000))
    [flavor_usage] = take(stage)[0]["clusterqueues", "team"]["flavorsUsage"]
    assert flavor_usage["resources"] == [{"name": "cpu", "total": "1"}]


def test_conditions_of_others_stay():
    queue = cluster_queue("team", quotas(cpu=1))
    queue["status"] = {
        "conditions": [
            {"type": "Other", "status": "True", "reason": "R"},
            {"type": "Active", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]
    }
    writes, _ = take(Stage().tell(flavor(), queue, local_queue("users", "team")))
    other, active = writes["clusterqueues", "team"]["conditions"]
    assert other["type"] == "Other"
    assert active["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_status_that_stands_already_is_not_written_again():
    stage = kueue()
    written = take(stage)[0]["clusterqueues", "team"]
    queue = {**cluster_queue("team", quotas(cpu=4)), "status": written}
    again = Stage().tell(flavor(), queue, local_queue("users", "team"))
    assert ("clusterqueues", "team") not in take(again)[0]


def test_nothing_is_written_where_kueue_admits():
    stage = Stage(source=("kueue", "volcano"), admission="kueue")
    stage.tell(flavor(), cluster_queue("team", quotas(cpu=1)), volcano_queue("v", weight=0))
    assert take(stage) == ({}, [])


def test_use_of_other_projects():
    stage = Stage(source=("volcano", "scheduler-plugins")).tell(
        volcano_queue("v", capability={"cpu": 4}), elastic_quota("q", min={"cpu": 1})
    )
    stage.state.take_events()
    stage.state.on_round(used("VolcanoQueue/v", cpu=2000, flavor="any node"))
    stage.state.on_round(used("ElasticQuota/shop/q", cpu=500, flavor="any node"))
    writes, _ = take(stage)
    assert writes == {
        ("queues", "v"): {"allocated": {"cpu": "2"}},
        ("elasticquotas", "q"): {"used": {"cpu": "500m"}},
    }


def test_what_is_wrong_or_not_honoured_is_an_event_once():
    stage = Stage(source=("volcano",)).tell(volcano_queue("v", weight=0, priority=1))
    events = take(stage)[1]
    assert {each.reason for each in events} == {"InvalidSpec", "NotHonoured"}
    assert {each.group.name for each in events} == {"v"}
    stage.tell(volcano_queue("w"))
    assert take(stage)[1] == []


def test_the_path_is_that_of_the_served_version():
    write = QueueStatusWrite("u", "/apis/kueue.x-k8s.io/v1beta2/localqueues", "shop", "q", {})
    served = write.build_patch("/apis/kueue.x-k8s.io/v1beta1/localqueues").path
    assert served == "/apis/kueue.x-k8s.io/v1beta1/namespaces/shop/localqueues/q/status"
