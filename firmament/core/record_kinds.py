"""The kinds of records that the core itself reads, and what their payloads hold. Other kinds are for cost models.

A record is a JSON text with a kind and a name that a driver sends (``RecordUpserted`` in ``events``).
"""

from __future__ import annotations

BUDGET_RECORD = "PodDisruptionBudget"
"""Kind of the records that carry disruption budgets, with payload ``{"namespace": NS, "selector": [{"key": K,
"operator": O, "values": [V, ...]}, ...] or null, "allowed": N, "disrupted": [TASK, ...]}``: a null selector matches
nothing, an empty one everything in the namespace; ``allowed`` tasks may be disrupted at present beside those of the
names ``disrupted``, whose disruption is counted already.
"""
NOMINATION_RECORD = "NominatedTask"
"""Records of this kind say for which tasks others were told to leave: the task's uid is the name, the machine's name
the payload. They stay until the task is bound or found to have no place, so a new solver knows as well."""

FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Records of this kind tell of tasks of other schedulers that wait for room on a machine: the uid is the name, the
payload ``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``."""

NAMESPACE_RECORD = "Namespace"
"""Kind of the records that carry the labels of namespaces, with payload ``{"labels": {...}}``."""

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
* ``order``: ``BestEffortFIFO`` (default) or ``StrictFIFO``.
* ``whenCanBorrow``: ``MayStopSearch`` (default): a task takes the first of its flavors that is to be had, even if it
  borrows there; ``TryNextFlavor``: rather a later one in which it borrows less.
* ``preemption``: ``{"within": "Never" | "LowerPriority" | "LowerOrNewerEqualPriority", "reclaim": "Never" |
  "LowerPriority" | "Any", "borrow": {"policy": "Never" | "LowerPriority", "threshold": PRIORITY or null},
  "strategies": [STRATEGY, ...]}``, the strategies being one or both of ``LessThanOrEqualToFinalShare`` and
  ``LessThanInitialShare``, in the order in which they are tried (absent: both). They count where quotas are ``fair``.
* ``active`` (true), ``message``: whether it admits tasks, and why not.

Tasks of a queue for which there is no record, or an inactive one, are not placed.
"""

FLAVOR_RECORD = "ResourceFlavor"
"""Kind of the records that carry flavors, with payload ``{"labels": {...}, "taints": [{"key": K, "value": V, "effect":
E}, ...], "tolerations": [...]}``. A flavor covers the machines with all its ``labels``, every machine without any; it
is for tasks that tolerate its ``taints``, or for which it has ``tolerations`` itself."""

DEVICE_SLICE_RECORD = "DeviceSlice"
"""Kind of the records that say which devices there are: one per ResourceSlice (resource.k8s.io/v1), with its name and
its ``spec`` as payload."""
DEVICE_CLASS_RECORD = "DeviceClass"
"""Kind of the records of DeviceClasses, with their names and their ``spec`` as payload."""
DEVICE_CLAIM_RECORD = "DeviceClaim"
"""Kind of the records of ResourceClaims: those that tasks name, and all that are allocated. The name is
``namespace/name``, the payload ``{"spec": SPEC, "allocation": ALLOCATION_RESULT or null, "reserved_for": [UID, ...],
"in_use_by": [UID, ...]}``: ``reserved_for`` are the pods for which it is reserved, ``in_use_by`` those tasks of them
that are on machines."""
DEVICE_FEATURES_RECORD = "DeviceFeatures"
"""Kind of the record of Kubernetes' feature gates of devices, of any name: payload ``{GATE: true or false, ...}``.
Gates that it does not name are on."""
DEVICE_RECORDS = (DEVICE_SLICE_RECORD, DEVICE_CLASS_RECORD, DEVICE_CLAIM_RECORD, DEVICE_FEATURES_RECORD)
"""Kinds of records about devices, which no model reads."""
