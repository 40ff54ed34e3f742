"""The rule about devices: kube-scheduler's plugin DynamicResources.

A round's ledger is built from the devices that drivers publish, and from what claims have been allocated. When the
round takes effect, a new ledger, built in the same way, allocates devices to the placed tasks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from cost_models.api.arrays import Arrays
from cost_models.interface import Int64, JointRows, Ledger, Needs
from firmament.core.model import (
    ClaimAllocation,
    TaskClaim,
    TaskClass,
)
from firmament.core.record_kinds import (
    DEVICE_CLASS_RECORD,
    DEVICE_FEATURES_RECORD,
    DEVICE_RECORDS,
    DEVICE_SLICE_RECORD,
)
from firmament.core.rules.devices.allocation.jointly_served_tasks import MOST_STATES, StateTable
from firmament.core.rules.devices.allocation.matching import DeviceSelectors
from firmament.core.rules.devices.devices_after_eviction import DevicesAfterEviction, sum_given
from firmament.core.rules.devices.ledger import (
    DeviceLedger,
    NamedClaim,
    Served,
    ShapeClaims,
    place_machines,
    share_out,
)
from firmament.core.rules.devices.objects.features import NOTHING_OFF, FeaturesOff, read_features
from firmament.core.rules.devices.objects.inventory import BadDevicesError, read_terms
from firmament.core.rules.devices.objects.requests import ClaimSpec, DeviceTerms, read_claim, read_class
from firmament.core.rules.devices.results import write_allocation
from firmament.core.rules.devices.saving import LedgerSources, restore_ledger, save_ledger
from firmament.core.rules.devices.usage import AllocatedDevices, usage_of
from firmament.core.rules.devices.visible_devices import DeviceInventory, View
from firmament.core.rules.framework.limit_rule import LimitRule, PlacedTask, RoundDemand
from firmament.core.state.cluster import Cluster
from firmament.core.state.device_allocations import HeldDevices, PoolOfDevices

NAME = "DynamicResources"


class DeviceMemory:
    """The devices, device classes and claims of a cluster, as kept between rounds."""

    def __init__(self) -> None:
        self.off: FeaturesOff = NOTHING_OFF
        self.inventory = DeviceInventory()
        self.selectors = DeviceSelectors()
        self.table = StateTable(self.selectors)
        self.classes: dict[str, DeviceTerms] = {}
        self.class_faults: dict[str, str] = {}
        self.specs: dict[str, ClaimSpec | str] = {}
        self.given: dict[PoolOfDevices, tuple[int, AllocatedDevices]] = {}
        self.held: dict[PoolOfDevices, tuple[int, HeldDevices]] = {}
        self.begun: dict[int, tuple[View, tuple[int, ...], int]] = {}
        self._changes = (-1, -1, -1)

    def update(self, cluster: Cluster) -> None:
        """Read the records that have changed."""
        records = cluster.records
        changes = (
            records.changes[DEVICE_SLICE_RECORD],
            records.changes[DEVICE_CLASS_RECORD],
            records.changes[DEVICE_FEATURES_RECORD],
        )
        if changes[2] != self._changes[2]:
            self._switch(
                read_features(next(iter(records.payloads.get(DEVICE_FEATURES_RECORD, {}).values()), None))
            )
        if changes[0] != self._changes[0]:
            self.inventory.update(records.payloads.get(DEVICE_SLICE_RECORD, {}))
        if changes[1] != self._changes[1]:
            self._read_classes(records.payloads.get(DEVICE_CLASS_RECORD, {}))
        self._changes = changes

    def _switch(self, off: FeaturesOff) -> None:
        if off != self.off:
            self.off = off
            self.inventory, self.selectors = DeviceInventory(off), DeviceSelectors()
            self._changes = (-1, -1, -1)
            self.forget_findings()

    def _read_classes(self, payloads: dict[str, bytes]) -> None:
        self.classes, self.class_faults = {}, {}
        self.specs.clear()
        for name, payload in payloads.items():
            try:
                self.classes[name] = read_class(name, payload)
            except BadDevicesError as error:
                self.class_faults[name] = str(error)

    def forget_findings(self) -> None:
        """Forget what was computed about machines; rounds that are being solved keep their own results."""
        self.inventory.forget_findings()
        self.table = StateTable(self.selectors)
        self.begun.clear()

    def recall_held(self, cluster: Cluster, pool: PoolOfDevices) -> HeldDevices:
        """Return which claims and tasks have which devices of a pool, as an object that never changes."""
        changed = cluster.devices.changes.get(pool, -1)
        known = self.held.get(pool)
        if known is None or known[0] != changed:
            known = self.held[pool] = changed, cluster.devices.list_held(pool)
        return known[1]

    def recall_given(self, cluster: Cluster, pool: PoolOfDevices) -> AllocatedDevices:
        """Return what has been allocated of a pool; the object is the same until a device is allocated or freed."""
        changed = cluster.devices.changes.get(pool, -1)
        known = self.given.get(pool)
        if known is None or known[0] != changed:
            known = self.given[pool] = changed, sum_given(self.recall_held(cluster, pool))
        return known[1]

    def read_spec(self, text: str) -> ClaimSpec | str:
        """Return the claim that the JSON of a spec states, or what is wrong with it."""
        found = self.specs.get(text)
        if found is None:
            if len(self.specs) > 10_000:
                self.specs.clear()
            try:
                found = read_claim(json.loads(text), self.classes, self.off)
            except (BadDevicesError, ValueError, RecursionError) as error:
                found = str(error)
            self.specs[text] = found
        return found


def recall_memory(cluster: Cluster) -> DeviceMemory:
    """Return the memory of a cluster's devices, updated to the present records."""
    memory = cluster.rule_memory.get(NAME)
    if not isinstance(memory, DeviceMemory):
        memory = cluster.rule_memory[NAME] = DeviceMemory()
    memory.update(cluster)
    return memory


class DynamicResources(LimitRule):
    """Limits tasks to machines whose devices serve their claims, and allocates the devices."""

    name = NAME
    for_tasks_with = ("claims",)
    needs = Needs(records=DEVICE_RECORDS)
    asked_again = False

    def limit(
        self,
        cluster: Cluster,  # noqa: ARG002  # all is in the ledger
        demand: RoundDemand,  # noqa: ARG002
        free: Int64,
    ) -> tuple[Int64, Sequence[JointRows]]:
        """Return ``free`` unchanged and no joint rows, because only the ledger limits devices."""
        return free, ()

    def keep_ledger(self, cluster: Cluster, demand: RoundDemand) -> Ledger | None:
        """Return the ledger of devices for a round's shapes; None if no shape has claims."""
        shapes = [cluster.classes.shapes[shape] for shape in demand.shapes]
        without = frozenset({cluster.tasks.uid[demand.without]} if demand.without >= 0 else ())
        ledger = make_ledger(cluster, shapes, without)
        if ledger is not None:
            ledger.room_after_eviction = _make_room_after_eviction(cluster, ledger)
        return ledger

    def restore_ledger(self, arrays: Arrays, shapes: int, machines: int) -> Ledger:
        """Return the ledger of devices of a saved round."""
        return restore_ledger(arrays, shapes, machines)

    def allocate(self, cluster: Cluster, placed: Sequence[PlacedTask]) -> list[Any]:
        """Return the devices allocated to each placed task; None for a task whose claims can no longer be served."""
        return give_devices(cluster, placed)


def _make_room_after_eviction(cluster: Cluster, ledger: DeviceLedger) -> DevicesAfterEviction:
    """Return the object from which preemption learns what evictions would free.

    Nothing may be booked in ``ledger`` yet.
    """
    memory = recall_memory(cluster)
    holdings = {pool: memory.recall_held(cluster, pool) for pool in cluster.devices.list_pools()}
    nowhere = np.broadcast_to(np.False_, (len(ledger.shapes), len(ledger.views)))
    return DevicesAfterEviction(ledger, holdings, cluster.tasks.uid, nowhere)


def make_ledger(
    cluster: Cluster, shapes: Sequence[TaskClass], without: frozenset[str] = frozenset()
) -> DeviceLedger | None:
    """Return the ledger of devices for a round's ``shapes``, in their order; None if no shape has claims.

    Devices count as free if only the tasks ``without`` (uids) have them.
    """
    if not any(shape.claims for shape in shapes):
        return None
    memory = recall_memory(cluster)
    read = [_read_shape(cluster, memory, shape.claims) if shape.claims else (None, ()) for shape in shapes]
    claims = tuple(stated for stated, _ in read)
    classes = dict(cluster.records.payloads.get(DEVICE_CLASS_RECORD, {}))
    sources = LedgerSources(classes, tuple(texts for _, texts in read), memory.off)
    specs = [
        claim.spec if isinstance(claim, NamedClaim) else claim
        for shape in claims
        if shape is not None
        for claim in shape.claims
    ]
    relevant = memory.selectors.find_relevant(specs)
    memory.selectors.keep(frozenset(text for spec in specs for text in spec.expressions), relevant)
    if len(memory.table.states) > MOST_STATES:
        memory.forget_findings()
    views = memory.inventory.see(cluster.machines, relevant)
    ledger = DeviceLedger(
        shapes=claims,
        views=views,
        pools=memory.inventory.pools,
        watchers=memory.inventory.watchers,
        watched=memory.inventory.watched,
        table=memory.table,
        at=np.zeros(len(views), dtype=np.int64),
        allocated={},
        write=partial(save_ledger, sources),
    )
    _begin(cluster, memory, ledger, without)
    return ledger


def _begin(cluster: Cluster, memory: DeviceMemory, ledger: DeviceLedger, without: frozenset[str]) -> None:
    """Compute the states of all machines from the devices that are in use now."""
    book = cluster.devices
    given: dict[PoolOfDevices, AllocatedDevices] = {}
    begun = {} if without else memory.begun

    def recall_given(driver: str, pool: str) -> AllocatedDevices:
        key = driver, pool
        if not without:
            return memory.recall_given(cluster, key)
        if key not in given:
            given[key] = sum_given(memory.recall_held(cluster, key), without)
        return given[key]

    changes = book.changes
    for row, view in enumerate(ledger.views):
        if row in ledger.watched:
            for place in view.places:
                ledger.allocated[place.pool[:2]] = recall_given(*place.pool[:2])
            continue
        mark = tuple([changes.get(place.pool[:2], -1) for place in view.places])
        known = begun.get(row)
        if known is None or known[0] is not view or known[1] != mark:
            use = usage_of(view, ledger.pools, recall_given)
            known = begun[row] = view, mark, ledger.table.begin(view.kind, use).number
        ledger.at[row] = known[2]
    place_machines(ledger, sorted(ledger.watched))


def _read_shape(
    cluster: Cluster, memory: DeviceMemory, claims: Sequence[TaskClaim]
) -> tuple[ShapeClaims, tuple[str, ...]]:
    """Return the claims of a shape, and the spec of each as JSON ("" if allocated); no claims if one is invalid."""
    found: list[ClaimSpec | NamedClaim] = []
    texts: list[str] = []
    for claim in claims:
        text = claim.spec
        allocation = None
        if claim.claim:
            known = cluster.devices.known_claims.get(claim.claim)
            if known is None:
                return ShapeClaims(fault=f"claim {claim.claim} does not exist"), ()
            text = json.dumps(known.spec, sort_keys=True)
            allocation = cluster.devices.find_allocation(claim.claim)
        if allocation is not None:
            found.append(NamedClaim(claim.claim, _NOTHING, _find_reached(cluster, allocation)))
            texts.append("")
            continue
        spec = memory.read_spec(text)
        if isinstance(spec, str):
            return ShapeClaims(fault=spec), ()
        found.append(NamedClaim(claim.claim, spec) if claim.claim else spec)
        texts.append(text)
    return ShapeClaims(tuple(found)), tuple(texts)


_NOTHING = ClaimSpec(())


def _find_reached(cluster: Cluster, allocation: Any) -> Any:
    """Return which machines the node selector of an allocation matches: bool[M]."""
    selector = allocation.get("nodeSelector")
    if not selector:
        return np.ones(len(cluster.machines), dtype=np.bool_)
    try:
        return cluster.machines.selectors().terms(read_terms(selector))
    except (BadDevicesError, TypeError, KeyError, AttributeError):
        return np.zeros(len(cluster.machines), dtype=np.bool_)


# --- allocating devices to placed tasks -------------------------------------------------------------------------------


def give_devices(cluster: Cluster, placed: Sequence[PlacedTask]) -> list[tuple[ClaimAllocation, ...] | None]:
    """Give devices to each placed task, in this order; return the allocations, None if devices are gone."""
    number: dict[int, int] = {}
    for each in placed:
        number.setdefault(each.shape, len(number))
    leaving = frozenset(uid for each in placed for uid in each.leaving)
    ledger = make_ledger(cluster, [cluster.classes.shapes[shape] for shape in number], leaving)
    if ledger is None:
        return [()] * len(placed)
    outcomes = [ledger.book_task(number[each.shape], each.machine) for each in placed]
    booked = [(task, served) for task, served in zip(placed, outcomes, strict=True) if served is not None]
    picks = iter(share_out(ledger, [served for _, served in booked]))
    found: list[tuple[ClaimAllocation, ...] | None] = []
    named: dict[str, str] = {}
    for task, served in zip(placed, outcomes, strict=True):
        if served is None:
            found.append(None)
            continue
        claims = cluster.classes.shapes[task.shape].claims
        allocations = _write_all(cluster, ledger, task, claims, served, next(picks), named)
        cluster.devices.promise(task.uid, allocations)
        found.append(allocations)
    return found


def _write_all(
    cluster: Cluster,
    ledger: DeviceLedger,
    task: PlacedTask,
    claims: Sequence[TaskClaim],
    served: Served,
    picks: Any,
    named: dict[str, str],
) -> tuple[ClaimAllocation, ...]:
    """Return the allocations of a task to be written.

    A task's allocations to be written are those of its own claims, and of claims for which no record states one.
    """
    view, machine = ledger.views[served.machine], cluster.machines.specs[served.machine].name
    written: list[ClaimAllocation] = []
    at = 0
    for claim in claims:
        if claim.claim and (claim.claim in named or claim.claim not in served.names):
            text = named.get(claim.claim) or _repeat(cluster, claim.claim)
            if text:
                written.append(ClaimAllocation(claim.name, claim.claim, text))
            continue
        mark = claim.claim or f"{task.uid}/{claim.name}"
        content = write_allocation(served.demand[at], picks[at], view, ledger.pools, machine, mark)
        text = json.dumps(content, separators=(",", ":"))
        if claim.claim:
            named[claim.claim] = text
        written.append(ClaimAllocation(claim.name, claim.claim, text))
        at += 1
    return tuple(written)


def _repeat(cluster: Cluster, claim: str) -> str:
    """Return, as JSON, the allocation that a claim got for another task.

    Return "" if a record states the allocation already.
    """
    known = cluster.devices.known_claims.get(claim)
    if known is not None and known.allocation is not None:
        return ""
    allocation = cluster.devices.find_allocation(claim)
    return "" if allocation is None else json.dumps(allocation, separators=(",", ":"))
