"""Claims of several kinds on the local volumes of one node: what is counted against what can really be given out."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.pods import PodClaim
from poseidon.volumes.claims import compute_rank
from poseidon.volumes.state import VolumeState
from tests.poseidon.volumes.objects import claim, storage_class, volume
from tests.support.effort import examples
from tests.support.storage import HOSTNAME

SIZES = (1, 2, 3)


def told(volumes, claims):
    """Whether the node's figures let pods with claims of these sizes onto it together."""
    state = VolumeState()
    state.storage_classes_changed([storage_class("local", provisioner="kubernetes.io/no-provisioner")])
    state.node_changed("n", {HOSTNAME: "n"})
    state.volumes_changed(
        [
            volume(f"v{index}", storage_class="local", size=f"{size}Gi", at=(HOSTNAME, ["n"]))
            for index, size in enumerate(volumes)
        ]
    )
    for index, size in enumerate(claims):
        state.claims_changed([claim(f"c{index}", storage_class="local", size=f"{size}Gi")])
        key = (PodClaim(f"default/c{index}"),)
        state.put_pod(f"p{index}", f"default/p{index}", key, compute_rank(0, 0.0, f"p{index}"), "")
    state.take_affected()
    asked: dict[str, int] = {}
    for index in range(len(claims)):
        for resource, amount in state.resolution(f"p{index}").needs.requests:
            asked[resource] = asked.get(resource, 0) + amount
    offered = state.offers("n")
    return all(amount <= offered.get(resource, 0) for resource, amount in asked.items())


def possible(volumes, claims):
    """Whether there is a volume of its own, large enough, for every claim: all ways are tried."""
    return len(claims) <= len(volumes) and any(
        all(size <= given for size, given in zip(claims, chosen, strict=True))
        for chosen in permutations(volumes, len(claims))
    )


@settings(max_examples=examples(120))
@given(
    st.lists(st.sampled_from(SIZES), max_size=4),
    st.lists(st.sampled_from(SIZES), min_size=1, max_size=4),
)
def test_figures_agree_with_what_can_be_given_out(volumes, claims):
    assert told(volumes, claims) == possible(volumes, claims)
