"""A plan never attaches more volumes to a node than it can hold, and leaves no pod behind that would fit."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.embedding import load_configuration
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.plan import make_plan
from tests.poseidon.offline import objects
from tests.poseidon.volumes.objects import typed
from tests.support import storage
from tests.support.effort import examples

DRIVERS = ["disk.example.com", "files.example.com"]
TOO_MANY = "node(s) exceed max volume count"


@st.composite
def clusters(draw):
    """Limits by node and driver (None: no limit), drivers by claim, pods as (claims, node or ""), what is attached.

    The last as (claim, node), whether or not a pod is there.
    """
    names = [f"n{index}" for index in range(draw(st.integers(1, 3)))]
    limits = {name: {driver: draw(st.sampled_from([None, 0, 1, 2])) for driver in DRIVERS} for name in names}
    drivers = {f"c{index}": draw(st.sampled_from(DRIVERS)) for index in range(draw(st.integers(1, 5)))}
    use = st.lists(st.sampled_from(sorted(drivers)), min_size=1, max_size=2, unique=True)
    pods = draw(st.lists(st.tuples(use, st.sampled_from(["", "", *names])), max_size=7))
    attachments = draw(
        st.lists(st.tuples(st.sampled_from(sorted(drivers)), st.sampled_from(names)), max_size=5, unique=True)
    )
    return limits, drivers, pods, attachments


def manifests(limits, drivers, pods, attachments):
    found = [
        convert_object(
            objects.pod(
                f"p{index}",
                cpu="1m",
                phase="Running" if node else "Pending",
                metadata={"uid": f"shop/p{index}"},
                volumes=storage.using(*claims),
                **({"nodeName": node} if node else {}),
            ),
            Pod,
        )
        for index, (claims, node) in enumerate(pods)
    ]
    kept = [storage.csi_node(name, **counts) for name, counts in limits.items()]
    for name, driver in drivers.items():
        kept.append(storage.claim(name, namespace="shop", volume=f"v-{name}"))
        kept.append(storage.volume(f"v-{name}", to=f"shop/{name}", driver=driver))
    for index, (name, node) in enumerate(attachments):
        kept.append(storage.attachment(f"a{index}", node, drivers[name], volume=f"v-{name}"))
    return Manifests(
        nodes=tuple(convert_object(objects.node(name), Node) for name in limits),
        namespaces=(),
        pods=tuple(found),
        priority_classes=(),
        warnings=(),
        storage=tuple(typed(each) for each in kept),
    )


def attached(pods, drivers, attachments, placed):
    """Volumes by node and driver, each once."""
    found = defaultdict(set)
    for claim, node in attachments:
        found[node, drivers[claim]].add(claim)
    for index, (claims, node) in enumerate(pods):
        at = node or placed.get(f"shop/p{index}", "")
        for claim in claims if at else ():
            found[at, drivers[claim]].add(claim)
    return found


@settings(max_examples=examples(120))
@given(cluster=clusters())
def test_attach_limits(cluster):
    limits, drivers, pods, attachments = cluster
    plan = make_plan(manifests(*cluster), load_configuration(None), 1e9)
    placed = {each.pod: each.node for each in plan.bindings}
    before, after = (attached(pods, drivers, attachments, each) for each in ({}, placed))
    for (node, driver), volumes in after.items():
        limit = limits[node][driver]
        if limit is not None and volumes != before[node, driver]:
            assert len(volumes) <= limit, (node, driver)
    for index, (claims, node) in enumerate(pods):
        if node or f"shop/p{index}" in placed:
            continue
        [reason] = [each.reason for each in plan.pending if each.pod == f"shop/p{index}"]
        assert TOO_MANY in reason
        # Claims of pods that ran before cost nothing more on their nodes.
        for name, counts in limits.items():
            needed = Counter(drivers[claim] for claim in claims if claim not in before[name, drivers[claim]])
            assert any(
                limit is not None
                and _charged(pods, drivers, placed, name, driver, before[name, driver]) + needed[driver]
                > limit
                for driver, limit in counts.items()
                if needed[driver]
            ), name


def _charged(pods, drivers, placed, name, driver, shared):
    """What pods are charged on a node: those of the round share with what was attached before, not with each other."""
    alone = sum(
        drivers[claim] == driver and claim not in shared
        for index, (claims, _) in enumerate(pods)
        if placed.get(f"shop/p{index}") == name
        for claim in claims
    )
    return len(shared) + alone
