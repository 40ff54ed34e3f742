"""Objects of one name in several namespaces are several; those without namespace are in ``default``."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.metadata import GenerationMeta, ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import DisruptionBudget, DisruptionBudgetSpec, ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.manifests.admission.whole_workloads import list_workloads
from poseidon.manifests.defaulting import complete_documents
from poseidon.manifests.disruption_budgets import count_budgets
from poseidon.manifests.documents import Document
from poseidon.manifests.workloads.common.existing_pods import PresentPods
from poseidon.manifests.workloads.common.pod_sets import Known
from tests.poseidon.manifests.test_disruption_budgets import WEB, web

NAMESPACES = pytest.mark.parametrize(("stated", "namespace"), [("shop", "shop"), ("", "default")])


def document(stated: str, **metadata: Any) -> Document:
    given = {**({"namespace": stated} if stated else {}), **metadata}
    return Document("file", "v1", "Pod", {"metadata": given})


@NAMESPACES
def test_a_budget_covers_pods_of_its_namespace(stated, namespace):
    pods = [web("a", namespace=namespace), web("b", namespace="elsewhere")]
    budget = DisruptionBudget(
        GenerationMeta(name="web", namespace=stated), DisruptionBudgetSpec(WEB, max_unavailable=3)
    )
    [counted] = count_budgets([budget], pods)
    assert counted.status is not None
    assert counted.status.disruptions_allowed == 1, "of the pod that it covers"


@NAMESPACES
def test_names_are_generated_free_in_their_namespace(stated, namespace):
    there = document(namespace, name="a-0")
    elsewhere = document("elsewhere", name="a-1")
    made = complete_documents([there, elsewhere, document(stated, generateName="a-")])
    assert made[-1].value["metadata"]["name"] == "a-1"


@NAMESPACES
def test_pods_that_are_there_are_known_by_namespace(stated, namespace):
    found = [document(stated, name="a")]
    assert PresentPods(found, Known(found)).names == {(namespace, "a")}


@NAMESPACES
def test_a_suspended_pod_belongs_to_the_workload_of_its_namespace(stated, namespace):
    def owned(where: str) -> Pod:
        owner = OwnerReference(kind="Job", name="j", uid="j", controller=True, api_version="batch/v1")
        return Pod(ObjectMeta(name="a", namespace=where, uid=where, owner_references=(owner,)))

    job = ScaledOwner(ObjectMeta(name="j", namespace=stated))
    found = list_workloads([owned(stated)], [("Job", job)])
    assert found == {stated: f"{namespace}/Job/j"}
