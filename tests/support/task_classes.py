"""What a single pod's class says, without a table of classes."""

from __future__ import annotations

from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import Defect
from poseidon.pods.templates import class_source, describe
from poseidon.pods.visibility import SelectorIndex, Visibility, choose_shown
from protos.firmament.v1 import scheduler_pb2 as pb


def class_content(
    pod: Pod,
    visibility: Visibility | None = None,
    onlookers: SelectorIndex | None = None,
    *,
    daemon: bool = False,
) -> tuple[pb.TaskClass, tuple[Defect, ...]]:
    """The class of a pod, with id 0, as ``onlookers`` see it, and what is wrong with the pod's spec.

    ``daemon``: the pod is a DaemonSet's.
    """
    visible = visibility or Visibility()
    message, defects = describe(class_source(pod, visible, daemon=daemon), visible)
    namespace, labels = pod.metadata.namespace or "default", pod.metadata.labels
    sight = (onlookers or SelectorIndex()).visible_labels(namespace, frozenset(labels))
    ending = pod.metadata.deletion_timestamp is not None
    choose_shown(visible, sight, namespace, sorted(labels.items()), ending=ending).add_to(message)
    return message, defects
