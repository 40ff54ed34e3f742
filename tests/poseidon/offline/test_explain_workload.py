"""`poseidon explain --workload`: what holds a workload in its queue, and changes that let it in."""

from __future__ import annotations

import json
import shlex
from copy import deepcopy

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.api import plan, read
from poseidon.cli import main
from poseidon.kube.parsing.quantities import amount
from poseidon.offline.explain_workload import UnknownWorkloadError, explain_workload
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import (
    cluster_queue,
    flavor,
    local_queue,
    quotas,
    volcano_queue,
    workload_priority,
)
from tests.poseidon.queues.test_gangs_by_owner import CONFIG, job

QUEUES = {**CONFIG, "queues": {"source": "kueue"}}
TEAM = (flavor(), cluster_queue("team", quotas(cpu=4, memory="64Gi")), local_queue("users", "team"))


def explain(objects, name="j", config=QUEUES):
    cluster = read(list(deepcopy(objects)), config=config)
    return explain_workload(cluster.manifests, cluster.configuration, cluster.now, name)


def is_placed(objects, name, config=QUEUES):
    made = plan(list(deepcopy(objects)), config=config)
    return not any(each.pod.startswith(f"shop/{name}-") for each in made.pending)


def train(pods, name="j", cpu=1, priority=0):
    made = job(pods, name)
    made["spec"]["template"] = deepcopy(made["spec"]["template"])
    spec = made["spec"]["template"]["spec"]
    spec["priority"] = priority
    spec["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return made


def patch(objects, command, less=0):
    """Carry a printed command out on objects, with so much less of each amount in milli-units."""
    words = shlex.split(command)
    assert words[:3] == ["kubectl", "patch", "clusterqueue"]
    changed = deepcopy(objects)
    (queue,) = (
        each for each in changed if each["kind"] == "ClusterQueue" and each["metadata"]["name"] == words[3]
    )
    for operation in json.loads(words[-1]):
        *path, last = operation["path"].strip("/").split("/")
        at = queue
        for each in path:
            at = at[int(each)] if isinstance(at, list) else at[each]
        at[last] = f"{amount('cpu', operation['value']) - less}m"
    return changed


def alter(objects, name, change):
    """Change the container and the spec of a Job's template."""
    changed = deepcopy(objects)
    (found,) = (each for each in changed if each["kind"] == "Job" and each["metadata"]["name"] == name)
    spec = found["spec"]["template"]["spec"]
    change(spec, spec["containers"][0]["resources"]["requests"])
    return changed


def carry_out(objects, name, change, less):
    """Make a change that was told, or a bit less of it."""
    (step, *more) = change.steps
    assert not more
    if step.kind == "request":
        return alter(objects, name, lambda _, asks: asks.update(cpu=f"{step.after + less}m"))
    if step.kind == "priority":
        return alter(objects, name, lambda spec, _: spec.update(priority=step.after - less))
    (command,) = change.commands
    return patch(objects, command, less)


@settings(max_examples=8, deadline=None)
@given(
    own=st.integers(0, 4),
    limit=st.none() | st.integers(0, 4),
    others=st.integers(0, 4),
    rival=st.tuples(st.integers(1, 3), st.integers(0, 2)),
    mine=st.tuples(st.integers(2, 4), st.integers(0, 2)),
)
def test_each_change_lets_it_in_and_a_bit_less_does_not(own, limit, others, rival, mine):
    policy = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    objects = [
        flavor(),
        node("n1", cpu=64),
        cluster_queue("team", quotas(cpu=(own, limit, None)), cohort="c", preemption=policy),
        cluster_queue("other", quotas(cpu=others), cohort="c"),
        local_queue("users", "team"),
        train(rival[0], "a", priority=rival[1]),
        train(mine[0], "j", priority=mine[1]),
    ]
    for each in objects[-2:]:
        del each["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"]
    found = explain(objects)
    assert bool(found.waiting) != is_placed(objects, "j")
    kinds = [each.steps[0].kind for each in found.changes]
    assert not found.waiting or "quota" in kinds
    for change in found.changes:
        assert is_placed(carry_out(objects, "j", change, 0), "j")
        if "ahead" not in change.text:
            assert not is_placed(carry_out(objects, "j", change, 1), "j")


def test_what_is_lacking_is_told_with_who_is_ahead():
    queue = cluster_queue("team", quotas(cpu=4, memory="64Gi"), queueingStrategy="StrictFIFO")
    objects = [flavor(), queue, local_queue("users", "team"), node("n1", cpu=32)]
    found = explain([*objects, train(6, "first", priority=5), train(3), train(2, "last", priority=-1)])
    assert (found.queue, found.position, found.behind_it, len(found.waiting)) == (
        "ClusterQueue/team",
        2,
        1,
        3,
    )
    assert found.lacks == ()  # there are 4, but not for those ahead as well
    (change,) = found.changes
    assert (change.steps[0].kind, change.steps[0].after) == ("priority", 6)


def test_enough_for_those_ahead_is_proposed_where_nothing_less_helps():
    queue = cluster_queue("team", quotas(cpu=4, memory="64Gi"), queueingStrategy="StrictFIFO")
    objects = [flavor(), queue, local_queue("users", "team"), node("n1", cpu=32)]
    found = explain([*objects, train(6, "first"), train(5)])
    change = next(each for each in found.changes if each.steps[0].kind == "quota")
    assert (change.steps[0].after, "ahead of it, too" in change.text) == (11000, True)
    assert is_placed(patch([*objects, train(6, "first"), train(5)], change.commands[0]), "j")


def test_who_loses_by_a_change_is_named():
    running = pod("runs", cpu=3, nodeName="n1", phase="Running")
    running["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "users"}
    queue = cluster_queue(
        "team", quotas(cpu=4, memory="64Gi"), preemption={"withinClusterQueue": "LowerPriority"}
    )
    found = explain([flavor(), queue, local_queue("users", "team"), node("n1", cpu=32), running, train(2)])
    change = next(each for each in found.changes if each.steps[0].kind == "priority")
    assert (change.steps[0].after, change.others) == (1, ("shop/runs",))
    assert "then shop/runs loses its places" in change.text


def test_the_class_of_a_workload_is_what_is_to_be_raised():
    label = "kueue.x-k8s.io/priority-class"
    first, waits = train(3, "first"), train(4)
    for each, name in ((first, "mid"), (waits, "low")):
        each["metadata"]["labels"][label] = name
    classes = [workload_priority(name, value) for name, value in (("low", 1), ("mid", 10), ("high", 20))]
    objects = [*TEAM, node("n1", cpu=8), *classes, first, waits]
    change = next(each for each in explain(objects).changes if each.steps[0].kind == "priority")
    assert change.text.startswith("a priority of 11 or more instead of 1 (WorkloadPriorityClass high has 20)")
    waits["metadata"]["labels"][label] = "high"
    assert is_placed(objects, "j")


def test_nodes_that_lack_room_are_told_and_no_quota_is_proposed():
    found = explain([*TEAM, node("n1", cpu=2), train(3)])
    assert "needs 3 places at once" in found.reason
    assert (found.lacks, found.changes) == ((), ())
    assert [each.data["kind"] for each in found.cures]


def test_a_limit_of_another_project_is_raised():
    config = {**CONFIG, "queues": {"source": "volcano"}}
    waits = pod("w", cpu=3)
    waits["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "q"}
    objects = [volcano_queue("q", capability={"cpu": 2}), node("n1", cpu=8), waits]
    found = explain(objects, "w", config)
    assert found.queue == "VolcanoQueue/q"
    assert "capability 3 instead of 2 for cpu (VolcanoQueue q)" in [each.text for each in found.changes]
    objects[0] = volcano_queue("q", capability={"cpu": 3})
    assert explain(objects, "w", config).waiting == ()


def test_names_are_found_in_full_and_in_short():
    objects = [*TEAM, node("n1", cpu=8), train(5)]
    for name in ("shop/Job/j", "shop/j", "Job/j", "job/j", "j"):
        assert explain(objects, name).workload == "shop/Job/j"
    with pytest.raises(UnknownWorkloadError, match="did you mean shop/Job/j"):
        explain(objects, "shop/Job/jj")
    with pytest.raises(UnknownWorkloadError, match="several workloads are called j"):
        explain([*objects, pod("j")], "j")


def test_the_command_prints_it_and_refuses_what_says_nothing(tmp_path):
    path, config = tmp_path / "cluster.yaml", tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump_all([*TEAM, node("n1", cpu=8), train(5)]))
    config.write_text(yaml.safe_dump(QUEUES))
    words = ["explain", "-f", str(path), "--config", str(config), "--workload"]
    shown = CliRunner().invoke(main, [*words, "j", "--when"])
    assert shown.exit_code == 0, shown.output
    assert "nominalQuota 5 instead of 4 for cpu of flavor default (ClusterQueue team)" in shown.stdout
    assert "each pod requests 800m of cpu instead of 1" in shown.stdout
    assert "Its last pod: It is not expected" in shown.stdout
    found = json.loads(CliRunner().invoke(main, [*words, "j", "-o", "json"]).stdout)
    assert (found["position"], found["lacks"][0]["left"]) == (1, 4000)
    for wrong, said in (
        (["x"], "workload x has no pods"),
        (["j", "--most", "3"], "--most has no effect on a workload"),
        (["j", "--pod", "a/b"], "ask one at a time"),
    ):
        refused = CliRunner().invoke(main, [*words, *wrong])
        assert (refused.exit_code, said in refused.stderr) == (2, True)
    placed = CliRunner().invoke(main, ["explain", "-f", str(path), "--workload", "j"])
    assert "which is in no queue, does not wait: 5 pods of it have nodes" in placed.stdout
