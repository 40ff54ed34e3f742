"""The kinds of records that the core itself reads, and their payloads. Other kinds are for cost models.

A record is a JSON text with a kind and a name that a driver sends (``RecordUpserted`` in ``events``).
"""

from __future__ import annotations

BUDGET_RECORD = "PodDisruptionBudget"
"""Kind of the records with disruption budgets. Payload: ``{"namespace": NS, "selector": [{"key": K, "operator": O,
"values": [V, ...]}, ...] or null, "allowed": N, "disrupted": [TASK, ...]}``. A null selector matches nothing, an empty
one everything in the namespace. ``allowed`` tasks may be disrupted now, in addition to those named in ``disrupted``,
whose disruption has been counted already.
"""
NOMINATION_RECORD = "NominatedTask"
"""Kind of the records of tasks for which others are being evicted: the name is the task's uid, the payload the
machine's name. A record stays until the task is bound or has no place any more, so that a new solver knows it too.
"""

FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Kind of the records of tasks of other schedulers that wait for room on a machine. The name is the uid, the payload
``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``.
"""

RESTART_ROOM_RECORD = "RestartRoom"
"""Kind of the records of room that members of a gang have left on machines, and that is kept until new members come
(``firmament.core.state.restarts``). The name is the uid of the task that left, the payload ``{"machine": M, "job": JOB,
"priority": P, "requests": {RESOURCE: AMOUNT, ...}, "ports": [[PROTOCOL, PORT, IP], ...], "devices": BOOL, "namespace":
NS, "name": NAME, "until": TEXT}``: ``devices`` says whether it had claims of devices, ``name`` and ``until`` are what
people are told. The driver removes the record when the room has been taken, or is kept no longer.
"""

NAMESPACE_RECORD = "Namespace"
"""Kind of the records with the labels of namespaces. Payload: ``{"labels": {...}}``."""

QUOTA_RECORD = "Quota"
"""Kind of the records that carry quotas, one per node of a tree; names are unique, such as ``ClusterQueue/team-a``.

The payload is a JSON object; ``TaskClass.queue`` names the quota that tasks draw on. Amounts are in the units of
`firmament.core.model`, by flavor and resource (``{FLAVOR: {RESOURCE: AMOUNT}}``). All keys but ``flavors`` may be
absent.

* ``parent``: name of the quota above, "" for none.
* ``flavors``: groups, each ``{"resources": [R, ...], "flavors": [FLAVOR, ...]}``, the flavors in order of preference. A
  task takes one flavor for all that it asks for of a group. A resource that no group has is refused, or not limited
  with ``"uncovered": "allow"``. The implicit resource ``pods`` is limited only where a group has it.
* ``nominal``: amounts of its own; ``borrowing``: how much more it may use (absent: no limit); ``lending``: how much of
  its own others may use (absent: all).
* ``limit``: upper bounds of what is used at it and below, whatever is borrowed; ``guarantee``: amounts of its own that
  are never lent.
* ``weight`` (1): its share among those that borrow; ``fair`` (false): queues borrow in order of their shares.
* ``reclaimable`` (true): tasks of other queues may evict its tasks, to take back what it borrows.
* ``order``: ``BestEffortFIFO`` (default) or ``StrictFIFO``.
* ``whenCanBorrow``: ``MayStopSearch`` (default): a task takes the first of its flavors that is to be had, even if it
  borrows there; ``TryNextFlavor``: rather a later one in which it borrows less.
* ``whenCanPreempt``: ``TryNextFlavor`` (default): a task evicts others only if it finds no place in any of its flavors;
  ``MayStopSearch``: it rather evicts in an earlier flavor than takes a later one.
* ``preference``: ``BorrowingOverPreemption`` (default), or ``PreemptionOverBorrowing``: of the flavors that a task
  looks at, it rather evicts in one than borrows further up in another.
* ``podSetFlavors``: ``Any`` (default): each task of a gang takes a flavor by itself; ``Same``: all tasks of one class
  in a gang take the same flavor.
* ``preemption``: ``{"within": "Never" | "LowerPriority" | "LowerOrNewerEqualPriority", "reclaim": "Never" |
  "LowerPriority" | "Any", "borrow": {"policy": "Never" | "LowerPriority", "threshold": PRIORITY or null},
  "strategies": [STRATEGY, ...]}``, the strategies being one or both of ``LessThanOrEqualToFinalShare`` and
  ``LessThanInitialShare``, in the order in which they are tried (absent: both). They count where quotas are ``fair``.
  ``"beyondQuota": false``: a task evicts nobody that requests more than the quota itself is, and more than any quota
  above it but the root has left (absent: it may).
* ``active`` (true), ``message``: whether it admits tasks, and why not.

Tasks of a queue for which there is no record, or an inactive one, are not placed.
"""

FLAVOR_RECORD = "ResourceFlavor"
"""Kind of the records with flavors. Payload: ``{"labels": {...}, "taints": [{"key": K, "value": V, "effect": E}, ...],
"tolerations": [...]}``. A flavor covers the machines that have all its ``labels``; without labels, every machine. It is
for tasks that tolerate its ``taints``, themselves or by the ``tolerations`` of the flavor.
"""

DEVICE_SLICE_RECORD = "DeviceSlice"
"""Kind of the records of devices: one per ResourceSlice (resource.k8s.io/v1), with its name, and its ``spec`` as
payload.
"""
DEVICE_CLASS_RECORD = "DeviceClass"
"""Kind of the records of DeviceClasses, with their names and their ``spec`` as payload."""
DEVICE_CLAIM_RECORD = "DeviceClaim"
"""Kind of the records of ResourceClaims: those that tasks name, and all that are allocated. The name is
``namespace/name``, the payload ``{"spec": SPEC, "allocation": ALLOCATION_RESULT or null, "reserved_for": [UID, ...],
"in_use_by": [UID, ...]}``. ``reserved_for`` are the pods for which it is reserved, ``in_use_by`` the tasks among them
that are on machines.
"""
DEVICE_FEATURES_RECORD = "DeviceFeatures"
"""Kind of the record with Kubernetes' feature gates for devices; its name can be any. Payload: ``{GATE: true or
false, ...}``. Gates that it does not name are on.
"""
DEVICE_RECORDS = (DEVICE_SLICE_RECORD, DEVICE_CLASS_RECORD, DEVICE_CLAIM_RECORD, DEVICE_FEATURES_RECORD)
"""Kinds of records about devices, which no model reads."""
