"""What pods that state no requests are taken to need when nodes are scored."""

from __future__ import annotations

import pytest

from poseidon.pods.requests_and_limits import compute_assumed_requests, effective_requests
from tests.poseidon.pods.builders import make_spec, requesting
from tests.poseidon.pods.test_requests_and_limits import SIDECAR

CPU, MEMORY = 100, 200 * 2**20
BOTH = {"cpu": CPU, "memory": MEMORY}
NOTHING = requesting()
MANY = {f"example.com/device-{number}": 1 for number in range(20)}
ALL = requesting({"cpu": "1", "memory": "1Gi"})


@pytest.mark.parametrize(
    ("spec", "assumed"),
    [
        ({"containers": [NOTHING]}, BOTH),
        ({"containers": [NOTHING, NOTHING]}, {"cpu": 2 * CPU, "memory": 2 * MEMORY}),
        ({"containers": [ALL]}, {}),
        ({"containers": [ALL, NOTHING]}, BOTH),
        ({"containers": [requesting({"cpu": "1"})]}, {"memory": MEMORY}),
        ({"containers": [requesting({}, {"cpu": "1"})]}, {"memory": MEMORY}),
        ({"containers": [requesting({"cpu": 0})]}, {"memory": MEMORY}),
        ({"containers": [ALL], "initContainers": [NOTHING]}, {}),
        ({"containers": [requesting({"cpu": "1m", "memory": "1"})], "initContainers": [NOTHING]}, None),
        ({"containers": [NOTHING], "initContainers": [ALL]}, {}),
        ({"containers": [NOTHING], "initContainers": [NOTHING]}, BOTH),
        ({"containers": [ALL], "initContainers": [{**NOTHING, **SIDECAR}]}, BOTH),
        ({"containers": [NOTHING], "resources": {"requests": {"cpu": "2"}}}, {"memory": MEMORY}),
        ({"containers": [NOTHING], "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}, {}),
        ({"containers": [NOTHING], "overhead": {"cpu": "5m"}}, BOTH),
        ({"containers": [requesting({"example.com/device": 1})]}, BOTH),
        ({"containers": [requesting({**MANY, "cpu": "1"})]}, {"memory": MEMORY}),
        ({"containers": [requesting(MANY, {"memory": "1Gi"})]}, {"cpu": CPU}),
    ],
)
def test_as_kube_scheduler_assumes(spec, assumed):
    made = make_spec(**spec)
    if assumed is None:  # the init container's are more than what the containers state
        assumed = {"cpu": CPU - 1, "memory": MEMORY - 1}
    assert compute_assumed_requests(made) == assumed


def test_requests_themselves_stay_exact():
    assert effective_requests(make_spec(containers=[NOTHING, ALL]), []) == {"cpu": 1000, "memory": 2**30}
