"""Defines the kinds of records that the core itself reads, and their payloads.

Other kinds of records are for cost models. A record is a JSON text with a kind and a name that a driver sends
(``RecordUpserted`` in ``events``).
"""

from __future__ import annotations

BUDGET_RECORD = "PodDisruptionBudget"
"""Kind of the records with disruption budgets. Payload: ``{"namespace": NS, "selector": [{"key": K, "operator": O,
"values": [V, ...]}, ...] or null, "allowed": N, "disrupted": [TASK, ...]}``. A null selector matches nothing; an
empty selector matches everything in the namespace. ``allowed`` tasks may be disrupted now, in addition to those named
in ``disrupted``, which have been counted already.
"""
NOMINATION_RECORD = "NominatedTask"
"""Kind of the records about tasks for which others are being evicted: the name is the task's uid, the payload the
machine's name. A record stays until the task is bound or has no machine any more, so that a new solver knows it too.
"""

FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Kind of the records about tasks of other schedulers that wait for capacity on a machine. The name is the task's
uid, the payload ``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``.
"""

RESTART_ROOM_RECORD = "RestartRoom"
"""Kind of the records about capacity that members of a gang have left on machines, and that is kept until new members
come (``firmament.core.state.restarts``). The name is the uid of the task that left, the payload ``{"machine": M,
"job": JOB, "priority": P, "requests": {RESOURCE: AMOUNT, ...}, "ports": [[PROTOCOL, PORT, IP], ...], "devices": BOOL,
"namespace": NS, "name": NAME, "until": TEXT}``: ``devices`` says whether the task had claims of devices, ``name`` and
``until`` appear in messages. The driver removes the record when the capacity has been taken, or is no longer kept.
"""

NAMESPACE_RECORD = "Namespace"
"""Kind of the records with the labels of namespaces. Payload: ``{"labels": {...}}``."""

QUOTA_RECORD = "Quota"
"""Kind of the records that carry quotas, one per quota of a tree; names are unique, such as ``ClusterQueue/team-a``.

The payload is a JSON object; ``TaskClass.queue`` names the quota that tasks use. Amounts are in the units of
`firmament.core.model`, by flavor and resource (``{FLAVOR: {RESOURCE: AMOUNT}}``). All keys but ``flavors`` may be
absent.

* ``parent``: name of the quota above this one, "" for none.
* ``flavors``: groups, each ``{"resources": [R, ...], "flavors": [FLAVOR, ...]}``, the flavors in order of preference.
  Within a group of resources, a task takes all from one flavor. Requests for a resource of no group are refused, or
  are unlimited if ``"uncovered": "allow"`` is stated. The implicit resource ``pods`` is limited only if a group
  contains it.
* ``nominal``: the quota's own amounts. ``borrowing``: how much more than its own amounts the quota may use (absent:
  no limit). ``lending``: how much of the quota's own amounts other quotas may use (absent: all).
* ``limit``: upper bounds for what is used at the quota and below it, whatever is borrowed. ``guarantee``: amounts of
  the quota's own that are never lent.
* ``weight`` (1): the quota's share among those that borrow. ``fair`` (false): queues borrow in order of their shares.
* ``reclaimable`` (true): tasks of other queues may evict the quota's tasks, to take back what it borrows.
* ``order``: ``BestEffortFIFO`` (default) or ``StrictFIFO``.
* ``whenCanBorrow``: ``MayStopSearch`` (default): a task takes the first of its flavors that has enough left, even if
  it must borrow there. ``TryNextFlavor``: a task prefers a later flavor in which it borrows less.
* ``whenCanPreempt``: ``TryNextFlavor`` (default): a task evicts others only if it fits in none of its flavors.
  ``MayStopSearch``: a task prefers evicting in an earlier flavor to taking a later one.
* ``preference``: ``BorrowingOverPreemption`` (default), or ``PreemptionOverBorrowing``: among the flavors that a task
  considers, it prefers evicting in one to borrowing further up in another.
* ``podSetFlavors``: ``Any`` (default): each task of a gang takes a flavor by itself; ``Same``: all tasks of one class
  in a gang take the same flavor.
* ``preemption``: ``{"within": "Never" | "LowerPriority" | "LowerOrNewerEqualPriority", "reclaim": "Never" |
  "LowerPriority" | "Any", "borrow": {"policy": "Never" | "LowerPriority", "threshold": PRIORITY or null},
  "strategies": [STRATEGY, ...]}``. The strategies are one or both of ``LessThanOrEqualToFinalShare`` and
  ``LessThanInitialShare``, in the order in which they are tried (absent: both). Strategies matter only if quotas are
  ``fair``. ``"beyondQuota": false``: a task evicts nobody if it requests more than the quota itself is, and more than
  any quota above it except the root has left (absent: it may).
* ``active`` (true), ``message``: whether the quota admits tasks, and why not.

If a queue has no record, or an inactive one, its tasks are not placed.
"""

FLAVOR_RECORD = "ResourceFlavor"
"""Kind of the records about flavors. Payload: ``{"labels": {...}, "taints": [{"key": K, "value": V, "effect": E},
...], "tolerations": [...]}``. A flavor covers the machines that have all its ``labels``; without labels, every
machine. A flavor is for tasks that tolerate its ``taints``, themselves or by the ``tolerations`` of the flavor.
"""

DEVICE_SLICE_RECORD = "DeviceSlice"
"""Kind of the records about devices: one per ResourceSlice (resource.k8s.io/v1), with its name, and its ``spec`` as
payload.
"""
DEVICE_CLASS_RECORD = "DeviceClass"
"""Kind of the records of DeviceClasses, with their names and their ``spec`` as payload."""
DEVICE_CLAIM_RECORD = "DeviceClaim"
"""Kind of the records about ResourceClaims: those that tasks name, and all that are allocated. The name is
``namespace/name``, the payload ``{"spec": SPEC, "allocation": ALLOCATION_RESULT or null, "reserved_for": [UID, ...],
"in_use_by": [UID, ...]}``. ``reserved_for``: the pods for which the claim is reserved. ``in_use_by``: those of these
tasks that are on machines.
"""
DEVICE_FEATURES_RECORD = "DeviceFeatures"
"""Kind of the record with Kubernetes' feature gates for devices; its name can be any. Payload: ``{GATE: true or
false, ...}``. Gates that the record does not name are on.
"""
DEVICE_RECORDS = (DEVICE_SLICE_RECORD, DEVICE_CLASS_RECORD, DEVICE_CLAIM_RECORD, DEVICE_FEATURES_RECORD)
"""Kinds of records about devices, which no model reads."""
