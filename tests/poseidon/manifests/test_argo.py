"""Workflows and rollouts of Argo: how many pods run at the same time, and how they look."""

from __future__ import annotations

from collections import Counter

import pytest

API = "argoproj.io/v1alpha1"


def workflow(*templates, name="w", entrypoint="main", status=None, **spec):
    return {
        "apiVersion": API,
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"entrypoint": entrypoint, "templates": list(templates), **spec},
        "status": status or {},
    }


def template(name, kind="WorkflowTemplate", *templates, namespace="shop", **spec):
    metadata = {"name": name} if kind == "ClusterWorkflowTemplate" else {"name": name, "namespace": namespace}
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": metadata,
        "spec": {"templates": list(templates), **spec},
    }


def job(name="job", cpu="1", **more):
    return {"name": name, "container": {"image": "x", "resources": {"requests": {"cpu": cpu}}}, **more}


def steps(*groups, name="main", **more):
    return {"name": name, "steps": list(groups), **more}


def call(name="job", **more):
    return {"name": "call", "template": name, **more}


def counted(loaded, name="w"):
    """Return how many pods there are by the template in their names."""
    return Counter(
        each.metadata.name.removeprefix(f"{name}-").rpartition("-")[0] or each.metadata.name
        for each in loaded.pods
    )


@pytest.mark.parametrize(
    ("main", "pods"),
    [
        (steps([call()], [call(), call()]), 2),
        (steps([call(), call(), call()], [call()]), 3),
        (steps([call(withItems=["a", "b", "c", "d"])]), 4),
        (steps([call(withSequence={"count": "5"})]), 5),
        (steps([call(withSequence={"start": "3", "end": "7"})]), 5),
        (steps([call(withSequence={"start": "7", "end": "3"})]), 5),
        (steps([call(withSequence={"end": "2"})]), 3),
        (steps([call(withSequence={"format": "x"})]), 1),
        (steps([call(withParam="{{x}}")]), 1),
        (steps([call(withItems=["a", "b", "c"])], parallelism=2), 2),
        (steps([{"name": "i", "inline": job("i")}, call()]), 2),
    ],
)
def test_the_widest_stage_says_how_many_pods_run_at_the_same_time(load, main, pods):
    assert len(load(workflow(main, job())).pods) == pods


def test_the_workflow_itself_may_run_few_at_a_time(load):
    main = steps([call("a"), call("a"), call("b"), call("b")])
    found = load(workflow(main, job("a"), job("b"), parallelism=3))
    assert counted(found) == {"a": 2, "b": 1}


def test_tasks_of_a_graph_run_together_that_are_equally_far(load):
    def task(name, *needs, depends=""):
        return {"name": name, "template": "job", "dependencies": list(needs), "depends": depends}

    dag = {
        "name": "main",
        "dag": {
            "tasks": [
                task("a"),
                task("b", "a"),
                task("c", "a"),
                task("d", depends="a.Succeeded && !b"),
                task("e", "a", "unknown", "e"),
            ]
        },
    }
    assert len(load(workflow(dag, job())).pods) == 3


def test_templates_of_others_are_found_by_reference(load):
    shared = template("shared", "WorkflowTemplate", job("remote", cpu="3"))
    everywhere = template("all", "ClusterWorkflowTemplate", steps([call()]), job(), entrypoint="main")
    by_call = {"name": "r", "templateRef": {"name": "shared", "template": "remote"}}
    found = load(shared, workflow(steps([by_call, by_call])))
    assert counted(found) == {"remote": 2}
    assert found.pods[0].spec.containers[0].resources.requests == {"cpu": "3"}
    reference = {"workflowTemplateRef": {"name": "all", "clusterScope": True}}
    given = workflow(**reference)
    del given["spec"]["templates"], given["spec"]["entrypoint"]
    assert len(load(everywhere, given).pods) == 1


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"name": "gone"}, "WorkflowTemplate gone is not in the input"),
        ({"name": "gone", "clusterScope": True}, "ClusterWorkflowTemplate gone is not in the input"),
    ],
)
def test_a_template_that_is_not_there_is_named(load, reference, words):
    found = load(workflow(workflowTemplateRef=reference))
    assert not found.pods
    assert any(words in line for line in found.warnings)


def test_a_step_that_names_no_template_is_named(load):
    found = load(workflow(steps([call("gone")])))
    assert any("spec.templates: 'gone' is not among them" in line for line in found.warnings)


@pytest.mark.parametrize(
    "more",
    [
        {"suspend": True},
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Failed"}},
        {"status": {"phase": "Error"}},
    ],
)
def test_workflows_that_do_not_run_have_no_pods(load, more):
    assert not load(workflow(steps([call()]), job(), **more)).pods
    assert load(workflow(steps([call()]), job(), status={"phase": "Running"})).pods


def test_a_pod_has_the_settings_of_its_workflow_and_its_template(load):
    made = job(
        nodeSelector={"disk": "ssd"},
        sidecars=[{"name": "log"}],
        initContainers=[{"name": "init"}],
        metadata={"labels": {"a": "template", "c": "3"}},
    )
    outer = {
        "nodeSelector": {"disk": "hdd"},
        "schedulerName": "poseidon",
        "podPriorityClassName": "high",
        "podMetadata": {"labels": {"a": "workflow", "b": "2"}},
    }
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    [pod] = load(high, workflow(steps([call()]), made, **outer)).pods
    assert pod.spec.node_selector == {"disk": "ssd"}
    assert (pod.spec.scheduler_name, pod.spec.priority_class_name) == ("poseidon", "high")
    assert [each.name for each in pod.spec.containers] == ["main", "log"]
    assert [each.name for each in pod.spec.init_containers] == ["init"]
    labels = pod.metadata.labels
    assert {key: labels[key] for key in "abc"} == {"a": "template", "b": "2", "c": "3"}
    assert labels["workflows.argoproj.io/workflow"] == "w"


def rollout(**spec):
    metadata = {"name": "r", "namespace": "shop"}
    pods = {"metadata": {"labels": {"app": "r"}}, "spec": {"containers": [{"name": "c"}]}}
    return {"apiVersion": API, "kind": "Rollout", "metadata": metadata, "spec": {"template": pods, **spec}}


@pytest.mark.parametrize(("spec", "pods"), [({}, 1), ({"replicas": 3}, 3), ({"replicas": 0}, 0)])
def test_a_rollout_has_its_replicas(load, spec, pods):
    assert len(load(rollout(**spec)).pods) == pods


def test_a_rollout_of_another_workload_needs_it(load):
    reference = {"workloadRef": {"kind": "Deployment", "name": "gone"}}
    found = load(rollout(**reference))
    assert any("spec.workloadRef: Deployment gone is not in the input" in line for line in found.warnings)
