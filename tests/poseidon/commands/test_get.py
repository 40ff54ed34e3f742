"""`poseidon get queues`: the tree of queues of files, as a table and as JSON."""

from __future__ import annotations

import pytest
import yaml

from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas

CONFIG = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "queues": {"source": ["kueue"]},
}


@pytest.fixture
def files(write, tmp_path):
    config = tmp_path / "config.cfg"
    config.write_text(yaml.safe_dump(CONFIG))
    queued = [pod(name, cpu="1", metadata={"labels": {LABEL: "users"}}) for name in "ab"]
    queues = [flavor(), cluster_queue("team", quotas(cpu=1, memory="8Gi")), local_queue("users", "team")]
    return ["-f", write(node("n1"), *queues, *queued), "--config", config]


def test_queues_are_a_tree_with_what_is_used(run, files):
    [queue] = run("get", "queues", *files, "-o", "json").json["queues"]
    assert "expectedStarts" not in queue
    table = run("get", "queues", *files).stdout
    assert "team" in table
    assert queue["queue"].endswith("team")


def test_expected_starts_are_told_if_asked_for(run, files):
    [queue] = run("get", "queues", *files, "--when", "-o", "json").json["queues"]
    assert "expectedStarts" in queue
    assert run("get", "queues", *files, "--when").stdout != run("get", "queues", *files).stdout
