"""Claims are looked for in the namespace of their pod."""

from __future__ import annotations

import pytest

from poseidon.devices.claims import device_claims_of
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import with_claims


@pytest.mark.parametrize(("stated", "namespace"), [("shop", "shop"), ("", "default")])
def test_a_pod_names_claims_of_its_own_namespace(stated, namespace):
    found = with_claims(pod("a", namespace=stated), "gpu", made=(("nic", "a-nic"), ("fpga", "")))
    named, made, missing = device_claims_of(found)
    assert (named.key, made.key) == (f"{namespace}/gpu", f"{namespace}/a-nic")
    assert f'pod "{namespace}/a"' in missing.problem
