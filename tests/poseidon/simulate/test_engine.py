"""Time passes: nothing is overcommitted, gangs begin together, nobody is lost."""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.simulate.engine import Simulation
from poseidon.simulate.setup import SimulationError
from poseidon.simulate.tasks import TaskProgress
from tests.poseidon.simulate.scenarios import begin, kind, pool, scenario


def check(simulation: Simulation) -> None:
    """Look at every machine and task one by one, with arithmetic of the test's own."""
    tasks, machines, kinds = simulation.tasks, simulation.machines, simulation.kinds
    used: Counter[tuple[int, str]] = Counter()
    gangs: dict[int, set[tuple[int, float]]] = {}
    for task in range(len(tasks.work)):
        state = TaskProgress(tasks.state[task])
        assert (state is TaskProgress.TO_COME) == (task >= simulation.arrived)
        if state is TaskProgress.RUNNING:
            where = int(tasks.machine[task])
            assert machines.there[where], "a task runs on a machine that is gone"
            assert tasks.begun[task] >= tasks.work.arrival[task]
            for each in kinds.classes[tasks.work.template[task]].requests:
                used[where, each.resource] += each.amount
        else:
            assert tasks.machine[task] == -1
        gang = int(tasks.work.gang[task])
        if gang >= 0 and state is not TaskProgress.ENDED and not tasks.evictions[task]:
            gangs.setdefault(gang, set()).add((state, float(tasks.begun[task])))
    for (machine, resource), amount in used.items():
        offered = {each.resource: each.amount for each in machines.messages[machine].allocatable}
        assert amount <= offered.get(resource, 0), f"{machines.names[machine]} is overcommitted on {resource}"
    for gang, found in gangs.items():
        assert len(found) == 1, f"gang {gang} is not of one piece: {found}"


KINDS = st.lists(
    st.builds(
        lambda cpu, mean, members, priority: {
            "cpu": cpu, "mean": mean, "members": members, "priority": priority,
        },
        st.sampled_from([1, 2, 3, 5]),
        st.sampled_from([300, 900, 3000]),
        st.sampled_from([1, 1, 2, 4]),
        st.sampled_from([0, 0, 10]),
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip


@settings(max_examples=6, deadline=None)
@given(
    kinds=KINDS,
    load=st.sampled_from([0.5, 0.9, 1.3]),
    seed=st.integers(0, 100),
    troubled=st.booleans(),
)
def test_no_round_overcommits_a_node_splits_a_gang_or_loses_a_task(
    kinds: list[dict[str, Any]], load: float, seed: int, troubled: bool
) -> None:
    cluster: dict[str, Any] = {"pools": [pool(), pool("large", 1, 16)]}
    if troubled:
        cluster["failures"] = {"every": "1h", "repair": {"mean": "10m"}}
        cluster["drains"] = [{"at": "20m", "nodes": 2, "pool": "general", "lasts": "15m"}]
    named = [kind(f"kind-{place}", **each) for place, each in enumerate(kinds)]
    document = scenario(*named, load=load, seed=seed, horizon="1h", cluster=cluster)
    with tempfile.TemporaryDirectory() as folder:
        simulation = begin(Path(folder), document)
        assert simulation.run(note=lambda _: check(simulation))
    known = {uid.uid for uid in simulation.scheduler.tasks()}
    there = [task for task in range(simulation.arrived) if simulation.tasks.state[task] != TaskProgress.ENDED]
    assert known == {simulation.messages.uid(task) for task in there}


def test_tasks_end_when_their_work_is_done(tmp_path: Path) -> None:
    document = scenario(kind(mean=600), load=0.4, horizon="3h")
    document["workload"]["generator"]["warm"] = False
    simulation = begin(tmp_path, document)
    simulation.run()
    tasks = simulation.tasks
    ended = tasks.state == TaskProgress.ENDED
    assert ended.any()
    late = tasks.begun + 600 + simulation.round_every
    assert (late[ended] <= simulation.now + simulation.round_every).all()
    still = tasks.state == TaskProgress.RUNNING
    assert (tasks.begun[still] + 600 > simulation.now - simulation.round_every).all()


def test_more_important_tasks_take_the_place_of_others(tmp_path: Path) -> None:
    document = scenario(kind("low"), kind("high", priority=100, share=0.4), load=1.5, horizon="1h")
    simulation = begin(tmp_path, document)
    simulation.run()
    tasks = simulation.tasks
    assert simulation.record.preempted > 0
    evicted = tasks.work.template[tasks.evictions > 0]
    assert set(evicted.tolist()) == {simulation.kinds.names.index("low")}


@pytest.mark.parametrize(("restart", "lost"), [("anew", True), ("where-it-was", False)])
def test_what_a_failed_node_ran_begins_anew_or_goes_on(tmp_path: Path, restart: str, lost: bool) -> None:
    cluster = {"pools": [pool(count=2)], "drains": [{"at": 300, "nodes": 1, "pool": "general"}]}
    document = scenario(kind(mean="10h"), load=0.4, horizon="10m", cluster=cluster, restart=restart)
    document["workload"]["generator"]["warm"] = True
    simulation = begin(tmp_path, document)
    simulation.run()
    moved = simulation.tasks.evictions > 0
    assert moved.any()
    assert simulation.record.displaced == moved.sum()
    left, whole = simulation.tasks.left[moved], simulation.tasks.work.duration[moved]
    assert (left == whole).all() if lost else (left < whole).all()


def test_nodes_fail_as_often_as_the_scenario_says(tmp_path: Path) -> None:
    cluster = {"pools": [pool(count=20)], "failures": {"every": "1h", "repair": {"mean": "6m"}}}
    document = scenario(kind(), load=0.1, horizon="20h", cluster=cluster)
    document["roundEvery"] = 240
    simulation = begin(tmp_path, document)
    away: list[int] = []
    simulation.run(note=lambda _: away.append(int((~simulation.machines.there).sum())))
    assert 20 * 0.06 < sum(away) / len(away) < 20 * 0.13  # 6 minutes of 66


def test_a_pool_grows_from_no_node_at_all(tmp_path: Path) -> None:
    scaling = {"most": 3, "delay": "1m", "idle": "10h"}
    accelerated = pool("gpu", 0, autoscaling=scaling)
    accelerated["allocatable"]["example.com/gpu"] = 2
    document = scenario(kind(mean="2h"), load=0.8, horizon="1h", cluster={"pools": [pool(), accelerated]})
    needs = {"cpu": 1, "example.com/gpu": 1}
    document["workload"]["generator"]["kinds"].append(kind("train", mean="2h") | {"requests": needs})
    simulation = begin(tmp_path, document)
    simulation.run(note=lambda _: check(simulation))
    mine = [name for name in simulation.machines.names if name.startswith("gpu-")]
    assert len(mine) == 3
    running = simulation.tasks.machine[simulation.tasks.work.template == 1]
    assert (running >= 0).sum() == 6  # two devices on each of the three


def test_a_pool_grows_while_tasks_wait_and_shrinks_when_its_nodes_are_empty(tmp_path: Path) -> None:
    scaling = {"least": 1, "most": 6, "delay": "1m", "idle": "5m"}
    cluster = {"pools": [pool(count=1, autoscaling=scaling)]}
    document = scenario(kind(cpu=4, mean=600), load=3.0, horizon="2h", cluster=cluster)
    simulation = begin(tmp_path, document)
    seen: list[int] = []
    simulation.run(note=lambda _: seen.append(int(simulation.machines.there.sum())))
    assert max(seen) > 1
    assert max(seen) <= 6
    assert any(later < earlier for earlier, later in pairwise(seen)), "no node ever went"
    assert min(seen) >= 1


QUEUES = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: 3}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: users, namespace: default}
spec: {clusterQueue: team}
"""
CONFIGURATION = """apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {name: cpu_mem}
queues: {source: [kueue]}
"""


def begin_queued(folder: Path, queue: str) -> Simulation:
    (folder / "queues.yaml").write_text(QUEUES, encoding="utf-8")
    (folder / "scheduler.yaml").write_text(CONFIGURATION, encoding="utf-8")
    work = kind(
        pod={
            "metadata": {"labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": 1}}}]},
        }
    )
    del work["requests"]
    cluster = {"pools": [pool(count=4)], "files": ["queues.yaml"]}
    return begin(folder, scenario(work, load=0.5, cluster=cluster, configuration="scheduler.yaml"))


def test_work_in_a_queue_draws_on_its_quota(tmp_path: Path) -> None:
    simulation = begin_queued(tmp_path, "users")
    simulation.run()
    assert max(simulation.record.running) == 3
    assert max(simulation.record.waiting) > 3


def test_work_in_a_queue_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"workload \(web\): .*nobody"):
        begin_queued(tmp_path, "nobody")


def test_a_gang_goes_to_nodes_with_one_value_of_a_label(tmp_path: Path) -> None:
    zone = "topology.kubernetes.io/zone"
    gangs = kind(cpu=4, members=4, within=zone)
    nodes = pool(count=6, zones=["a", "b", "c"])
    simulation = begin(tmp_path, scenario(gangs, load=0.6, cluster={"pools": [nodes]}))
    simulation.run()
    tasks, messages = simulation.tasks, simulation.machines.messages
    used: dict[int, set[str]] = {}
    for task in tasks.find(TaskProgress.RUNNING).tolist():
        labels = messages[int(tasks.machine[task])].labels
        used.setdefault(int(tasks.work.gang[task]), set()).add(labels[zone])
    assert used
    assert all(len(zones) == 1 for zones in used.values())
