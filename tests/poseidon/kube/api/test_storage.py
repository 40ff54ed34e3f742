"""What storage classes say about the moment at which a claim gets its volume."""

from __future__ import annotations

import pytest

from poseidon.kube.api.storage import StorageClass


@pytest.mark.parametrize(
    ("mode", "waits"), [("WaitForFirstConsumer", True), ("Immediate", False), ("", False)]
)
def test_a_claim_waits_for_its_pod_only_in_the_mode_that_says_so(mode, waits):
    assert StorageClass(volume_binding_mode=mode).waits is waits
