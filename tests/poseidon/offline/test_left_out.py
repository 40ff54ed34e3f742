"""What takes no part is said on standard error: whose pods, which objects are missing, and how to get them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.poseidon.offline.objects import node, pod


def test_pods_of_other_schedulers_are_counted(run, write):
    file = write(
        node("n1"),
        pod("a", schedulerName="poseidon"),
        pod("b"),
        pod("c"),
        pod("d", schedulerName="volcano"),
        pod("e", schedulerName="volcano", nodeName="n1", phase="Running"),
        pod("f", schedulerName="volcano", phase="Succeeded"),
    )
    outcome = run("plan", "-f", file, "--scheduler-name", "poseidon")
    assert outcome.stderr == (
        "warning: 3 pods wait for another scheduler and take no part: "
        "2 for default-scheduler, 1 for volcano; add --scheduler-name NAME\n"
    )
    assert run("plan", "-f", file).stderr == ""


def test_nodes_that_are_missing_are_named_once(run, write):
    running = [pod(f"p{index}", nodeName=f"gone-{index % 5}", phase="Running") for index in range(40)]
    outcome = run("plan", "-f", write(node("n1"), *running))
    assert outcome.stderr == (
        "warning: Pod shop/p0 and 39 more: spec.nodeName: node 'gone-0', 'gone-1', 'gone-2' and 2 more is not in "
        "the input, so what runs there is left out; add what `kubectl get nodes -o yaml` prints\n"
    )


@pytest.mark.parametrize(
    ("labels", "spec", "line"),
    [
        (
            {"scheduling.x-k8s.io/pod-group": "g"},
            {},
            (
                "PodGroup shop/g is not in the input, so its pods wait; "
                "add what `kubectl get podgroups.scheduling.x-k8s.io --all-namespaces -o yaml` prints"
            ),
        ),
        (
            {},
            {"schedulingGroup": {"podGroupName": "g"}},
            (
                "PodGroup shop/g is not in the input, so its pods wait; "
                "add what `kubectl get podgroups.scheduling.k8s.io --all-namespaces -o yaml` prints"
            ),
        ),
        (
            {},
            {"workloadRef": {"name": "w", "podGroup": "g"}},
            (
                "Workload shop/w is not in the input, so its pods wait; "
                "add what `kubectl get workloads.scheduling.k8s.io --all-namespaces -o yaml` prints"
            ),
        ),
    ],
)
def test_groups_that_are_missing(run, write, labels, spec, line):
    outcome = run("plan", "-f", write(node("n1"), pod("a", metadata={"labels": labels}, **spec)))
    assert outcome.stderr == f"warning: {line}\n"


@pytest.mark.parametrize("command", [["plan"], ["explain", "--pod", "shop/a"]])
def test_both_commands_ask_for_what_is_missing(run, write, command):
    waiting = pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    outcome = run(*command, "-f", write(node("n1"), waiting))
    assert outcome.status == 0
    assert "warning: Pod shop/a: PersistentVolumeClaim shop/data is not in the input" in outcome.stderr


def test_evictions_of_dumped_pods_ask_for_budgets(run, write):
    low: dict[str, Any] = {
        "metadata": {"uid": "u", "resourceVersion": "5"},
        "nodeName": "n1",
        "phase": "Running",
        "cpu": 4,
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": 1},
    }
    given = [node("n1"), pod("low", **low), pod("high", cpu=4, priority=1000)]
    outcome = run("plan", "-f", write(*given))
    assert "no PodDisruptionBudget is in the input" in outcome.stderr
    assert "`kubectl get poddisruptionbudgets --all-namespaces -o yaml`" in outcome.stderr
    assert run("plan", "-f", write(*given, budget)).stderr == ""
    low["metadata"] = {}
    assert run("plan", "-f", write(node("n1"), pod("low", **low), given[2])).stderr == ""


def test_requests_that_no_machine_meets_wait_as_any_other(run, write):
    huge = pod("huge")
    huge["spec"]["containers"][0]["resources"]["requests"]["memory"] = "2E"
    found = run("plan", "-o", "json", "-f", write(node("n1", memory="1E"), pod("small"), huge)).json
    assert [each["pod"] for each in found["bindings"]] == ["shop/small"]
    assert found["pending"] == [
        {
            "pod": "shop/huge",
            "reason": "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        }
    ]


def test_applications_that_are_missing_matter_to_those_who_look_at_them(run, write):
    file = write(node("n1"), pod("a", metadata={"labels": {"appgroup.diktyo.x-k8s.io": "shop"}}))
    config = write(
        {
            "apiVersion": "firmament.io/v1alpha1",
            "kind": "SchedulerConfiguration",
            "costModels": [{"name": "network_overhead"}],
        },
        name="config.cfg",
    )
    assert run("plan", "-f", file).stderr == ""
    assert run("plan", "-f", file, "--config", config).stderr == (
        "warning: Pod shop/a: AppGroup shop/shop is not in the input, so its pods count as any; "
        "add what `kubectl get appgroups.appgroup.diktyo.x-k8s.io --all-namespaces -o yaml` prints\n"
    )
