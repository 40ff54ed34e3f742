"""Objects of a live cluster are used as the bridge uses them, even with faults; what is odd about them is said."""

from __future__ import annotations

from typing import Any

from poseidon.manifests.documents import Document
from poseidon.manifests.loader import Manifests, build_live_manifests


def live(*objects: dict[str, Any]) -> Manifests:
    documents = [Document("", each["apiVersion"], each["kind"], each, held=True) for each in objects]
    return build_live_manifests(documents, ())


def pod(name: str, node: str = "", *quantities: str) -> dict[str, Any]:
    containers = [
        {"name": f"c{at}", "resources": {"requests": {"cpu": each}}} for at, each in enumerate(quantities)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": containers or [{"name": "c"}], "nodeName": node},
    }


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4"}},
}


def test_pods_with_faults_wait_or_count_where_they_run_and_nothing_is_refused():
    found = live(NODE, pod("fine"), pod("waits", "", "many"), pod("runs", "n1", "lots", "-1"))
    assert sorted(each.metadata.name for each in found.pods) == ["fine", "runs", "waits"]
    [runs, waits] = sorted(each for each in found.warnings if "shop/" in each)
    assert runs.startswith(
        "Pod shop/runs: spec.containers[0].resources.requests.cpu: 'lots' is not a quantity"
    )
    assert runs.endswith(", and 1 more; it counts where it runs")
    assert waits.endswith("; it waits")
    assert " more;" not in waits


def test_of_other_objects_the_rest_is_used():
    faulty = {**NODE, "metadata": {"name": "n2"}, "status": {"allocatable": {"cpu": "4", "memory": "much"}}}
    found = live(faulty)
    assert [each.metadata.name for each in found.nodes] == ["n2"]
    assert [each for each in found.warnings if each.endswith("; the rest of it is used")]


def test_what_cannot_be_read_or_has_no_name_is_left_out_with_a_line():
    nameless = {**NODE, "metadata": {}}
    unreadable = {**NODE, "metadata": {"name": "n3"}, "status": {"allocatable": []}}
    found = live(NODE, nameless, unreadable)
    assert [each.metadata.name for each in found.nodes] == ["n1"]
    assert len([each for each in found.warnings if each.endswith("; the object is left out")]) == 2
    assert any("metadata.name: missing" in each for each in found.warnings)
