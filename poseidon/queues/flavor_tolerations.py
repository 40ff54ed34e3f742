"""Finds the tolerations that the flavors of a queue give to the queue's pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from poseidon.pod_rules.taint_toleration import is_tolerated
from poseidon.pod_rules.tolerations_from_flavors import NO_SCHEDULE, GivenToleration, GivenTolerations
from poseidon.queues.model import Flavor, QuotaNode
from protos.firmament.v1 import scheduler_pb2 as pb


def _read_given(flavor: Flavor) -> Iterator[GivenToleration]:
    """Yield the tolerations that a flavor gives to its pods.

    The pods themselves do not get these tolerations. For a ``NoSchedule`` taint, they need none once they are placed.
    Kubernetes would evict a pod that does not itself tolerate a ``NoExecute`` taint, so a flavor cannot give
    tolerations of ``NoExecute`` taints.
    """
    for each in flavor.tolerations:
        if each.get("effect", "") in ("", NO_SCHEDULE):
            yield GivenToleration(each.get("key", ""), each.get("operator", ""), each.get("value", ""))


def list_given(quota: QuotaNode | None, flavors: Mapping[str, Flavor]) -> GivenTolerations:
    """Return the tolerations that all flavors of a queue together give to the queue's pods.

    A toleration of one flavor that fits a taint of another flavor is left out, as it would let pods use the other
    flavor's nodes.
    """
    if quota is None:
        return ()
    own = [flavors[name] for group in quota.covered for name in group.flavors if name in flavors]
    given = {flavor.name: tuple(_read_given(flavor)) for flavor in own if flavor.tolerations}
    return tuple(
        dict.fromkeys(
            each
            for name, tolerations in given.items()
            for each in tolerations
            if not any(_would_open(each, other, given) for other in own if other.name != name)
        )
    )


def _would_open(given: GivenToleration, other: Flavor, known: Mapping[str, GivenTolerations]) -> bool:
    """Return whether a toleration fits a taint of flavor ``other`` that ``other`` does not itself tolerate."""
    for each in other.taints:
        taint = pb.Taint(key=each.get("key", ""), value=each.get("value", ""), effect=each.get("effect", ""))
        own = [one.to_proto() for one in known.get(other.name, ())]
        if is_tolerated(taint, [given.to_proto()]) and not is_tolerated(taint, own):
            return True
    return False
