"""Pods that have to be in one domain of the cluster because their group says so, not they themselves."""

from __future__ import annotations

from typing import NamedTuple

from protos.firmament.v1 import scheduler_pb2 as pb

GROUP_LABEL = "group of pods"
"""A label that classes bear for this alone. No pod can have one of this name: it has blanks."""


class Colocation(NamedTuple):
    """The pods of ``group`` go to nodes with one value of each of the labels ``topology_keys``.

    As Kubernetes' ``schedulingConstraints.topology`` does; a required affinity of the pods to each other, so that the
    first may go anywhere, nodes without the label take none, and those that come later follow those that run.
    """

    group: str
    topology_keys: tuple[str, ...]

    def add_to(self, message: pb.TaskClass) -> None:
        """Let a class have it."""
        if not self.topology_keys:
            return
        message.labels[GROUP_LABEL] = self.group
        own = pb.TaskSelector(
            labels=[pb.Requirement(key=GROUP_LABEL, operator="In", values=[self.group])],
            namespaces_by_label=pb.NamespaceSelector(),
        )
        message.affinity.extend(pb.TaskTerm(topology_key=key, selector=own) for key in self.topology_keys)


ANYWHERE = Colocation("", ())
