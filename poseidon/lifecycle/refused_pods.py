"""Handles pods that a kubelet has refused: reports each once, and recreates those without a controller.

A refused pod is Failed for good. ReplicaSets, ReplicationControllers and Jobs create another pod and leave the failed
one behind; StatefulSets and DaemonSets delete the failed pod and create it again. A pod without a controller would be
lost. If configured, this module therefore creates the pod again under its name, unless one of its containers may have
run.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.api.pods import ContainerStatus, Pod
from poseidon.lifecycle.actions import Action, AnnounceRefused, DeleteRefused, RecreateRefused
from poseidon.lifecycle.kubelet_reasons import another_node_may_cure
from poseidon.lifecycle.phases import PodRecord
from protos.configuration.sections import Section

RECREATIONS = "poseidon.firmament.io/recreations"
"""Annotation that counts how often a pod has been created again under its name because kubelets refused it."""

LEAVING_BEHIND = frozenset({"ReplicaSet", "ReplicationController", "Job"})
"""Kinds of controllers that replace a failed pod without deleting it."""

_FIRST_DELAY, _LAST_DELAY = 1.0, 300.0
"""Seconds until a pod is created again for the first time, and the longest pause.

Each pause is twice the pause before.
"""
_LONGEST_COUNT = 9
_MOST_COUNTED = 10**_LONGEST_COUNT


class RecoveryOptions(Section):
    """The section ``recovery``: how to handle pods that a kubelet refused after they had been bound.

    ``recreate_bare_pods`` (false): create pods without a controller again under their names, at most
    ``max_recreations`` (5) times. This needs the right to create any pod, so it is off by default.
    ``delete_replaced_pods`` (false): delete the failed pods that ReplicaSets, ReplicationControllers and Jobs
    leave behind.
    """

    recreate_bare_pods: StrictBool = False
    max_recreations: Annotated[StrictInt, Field(ge=1, le=1000)] = 5
    delete_replaced_pods: StrictBool = False


class RefusedPods:
    """The decisions what happens to refused pods, each made once and added to ``actions``."""

    def __init__(self, options: RecoveryOptions, actions: list[Action]) -> None:
        self._options = options
        self._actions = actions
        self._handled: set[str] = set()

    def note_finished(self, uid: str, pod: Pod, known: PodRecord | None) -> None:
        """Handle a pod of this scheduler that has ended, if a kubelet refused it; ``known`` is its record so far.

        If the pod had failed before this process knew it, it is reported only if it is recreated or deleted now: pods
        that controllers left behind long ago need no report.
        """
        if uid in self._handled or not is_refused(pod):
            return
        self._handled.add(uid)
        if pod.metadata.deletion_timestamp is not None:
            return
        owner = pod.metadata.controller()
        ran = may_have_run(pod) or (known is not None and known.ran)
        ref = PodRef(uid, pod.metadata.namespace or "default", pod.metadata.name)
        done: Action | None = None
        if owner is not None:
            outcome = f"its {owner.kind} {owner.name} takes care of it"
            if self._options.delete_replaced_pods and owner.kind in LEAVING_BEHIND:
                done = DeleteRefused(ref)
        else:
            times = _recreations(pod)
            outcome = self._reason_to_leave(times, ran=ran)
            if not outcome:
                delay = _FIRST_DELAY * 2.0**times
                done = RecreateRefused(ref, times + 1, min(delay, _LAST_DELAY))
                outcome = (
                    f"it is created again ({times + 1} of at most {self._options.max_recreations} times)"
                )
        if done is not None:
            self._actions.append(done)
        if known is not None or isinstance(done, RecreateRefused):
            status = pod.status
            words = f"Node {pod.spec.node_name} refused the pod: {status.reason}: {status.message or '-'}"
            self._actions.append(AnnounceRefused(ref, status.reason, f"{words.rstrip('.')}; {outcome}"))

    def forget_pod(self, uid: str) -> None:
        """Remove a pod that does not exist any more."""
        self._handled.discard(uid)

    def _reason_to_leave(self, times: int, *, ran: bool) -> str:
        """Return why a pod without a controller is not recreated, "" if it is."""
        if not self._options.recreate_bare_pods:
            return "it has no controller and is left as it is (recovery.recreateBarePods is off)"
        if ran:
            return "it may have run before and is left as it is"
        if times >= self._options.max_recreations:
            return f"it was created again {times} times already and is left as it is"
        return ""


def _recreations(pod: Pod) -> int:
    """Return how often a pod has been created again, by its annotation; 0 if that is not a number.

    If the number has too many digits, the result is a large number.
    """
    text = pod.metadata.annotations.get(RECREATIONS, "")
    if not (text.isascii() and text.isdecimal()):
        return 0
    return int(text) if len(text) <= _LONGEST_COUNT else _MOST_COUNTED


def is_refused(pod: Pod) -> bool:
    """Return whether a kubelet refused the pod for a reason that may not hold on another node."""
    status = pod.status
    return status.phase == "Failed" and bool(pod.spec.node_name) and another_node_may_cure(status.reason)


def may_have_run(pod: Pod) -> bool:
    """Return whether a container of the pod may have run. A kubelet that restarts also refuses pods that had run."""
    status = pod.status
    initialized = pod.condition("Initialized")
    return (initialized is not None and initialized.status == "True") or any(
        _has_started(each) for each in (*status.container_statuses, *status.init_container_statuses)
    )


def _has_started(container: ContainerStatus) -> bool:
    state = container.state
    return container.restart_count > 0 or state.terminated is not None or state.running is not None
