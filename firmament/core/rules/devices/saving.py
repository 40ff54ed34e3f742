"""Saves the ledger of devices as plain arrays, and reads it back, so that rounds with claims can be run again.

The stated objects of drivers, administrators and users are saved unchanged, and read again by the same code as in a
round. Of all computed values, only two are saved: what each machine sees, and what is in use. Configurations of
devices are not saved: they decide nothing, and may contain secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cost_models.api.arrays import Arrays, Bool, MalformedArraysError
from firmament.core.rules.devices.allocation.jointly_served_tasks import StateTable
from firmament.core.rules.devices.allocation.matching import DeviceSelectors
from firmament.core.rules.devices.allocation.search import ViewUse
from firmament.core.rules.devices.ledger import DeviceLedger, NamedClaim, ShapeClaims
from firmament.core.rules.devices.objects.features import NOTHING_OFF, FeaturesOff
from firmament.core.rules.devices.objects.inventory import BadDevicesError
from firmament.core.rules.devices.objects.quantities import Amount, simplify
from firmament.core.rules.devices.objects.requests import ClaimSpec, DeviceTerms, read_claim, read_class
from firmament.core.rules.devices.usage import AllocatedDevices
from firmament.core.rules.devices.visible_devices import DeviceInventory, Place

_CONTENT = "content"


class LedgerSources(NamedTuple):
    """The objects from which a ledger was read, except the slices, which its pools name."""

    classes: Mapping[str, bytes]
    """The records of DeviceClasses, by name."""
    specs: tuple[tuple[str, ...], ...]
    """For each shape, the specs of its claims as JSON; "" for a claim that is allocated."""
    off: FeaturesOff = NOTHING_OFF
    """The feature gates that are off."""


def save_ledger(sources: LedgerSources, ledger: DeviceLedger) -> Arrays:
    """Return the present content of a ledger as one array: the bytes of a JSON document."""
    slices = {name: payload for pool in ledger.pools.values() for name, payload in pool.slices}
    uses: dict[int, int] = {}
    at = [uses.setdefault(number, len(uses)) for number in ledger.at.tolist()]
    content = {
        "off": sorted(sources.off),
        "classes": {name: _drop_config(payload) for name, payload in sources.classes.items()},
        "slices": {name: payload.decode() for name, payload in slices.items()},
        "shapes": [
            None if shape is None else _describe_shape(shape, specs)
            for shape, specs in zip(ledger.shapes, sources.specs, strict=True)
        ],
        "places": [[[*place.pool, str(place.devices)] for place in view.places] for view in ledger.views],
        "uses": [_describe_use(ledger.table.states[number].use) for number in uses],
        "at": at,
        "given": [[*pool, *_describe_given(given)] for pool, given in ledger.allocated.items()],
        "pending": {name: np.flatnonzero(rows).tolist() for name, rows in ledger.pending.items()},
    }
    return {_CONTENT: np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)}


def restore_ledger(arrays: Arrays, shapes: int, machines: int) -> DeviceLedger:
    """Return the ledger of a saved round; raise ``KeyError`` if an array is missing.

    Raise ``MalformedArraysError`` if the array is no ledger of this round.
    """
    try:
        content = json.loads(arrays[_CONTENT].tobytes())
        sizes = len(content["shapes"]), len(content["at"])
        ledger = _restore(content, machines) if sizes == (shapes, machines) else None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, BadDevicesError) as error:
        if isinstance(error, KeyError) and error.args == (_CONTENT,):
            raise
        raise MalformedArraysError(f"{_CONTENT} is no ledger of devices ({type(error).__name__})") from error
    if ledger is None:
        raise MalformedArraysError(f"{_CONTENT} is the ledger of another round")
    return ledger


def _restore(content: Mapping[str, Any], machines: int) -> DeviceLedger:
    off = frozenset(map(str, content["off"]))
    classes = {name: text.encode() for name, text in content["classes"].items()}
    inventory, selectors = DeviceInventory(off), DeviceSelectors()
    inventory.update({name: text.encode() for name, text in content["slices"].items()})
    texts = tuple(
        () if each is None else tuple(str(claim["spec"]) for claim in each["claims"])
        for each in content["shapes"]
    )
    read = _read_classes(classes)
    specs = {text: _read_spec(text, read, off) for stated in texts for text in stated}
    shapes = [each if each is None else _read_shape(each, specs, machines) for each in content["shapes"]]
    relevant = selectors.find_relevant(specs.values())
    places = [
        tuple(Place((driver, pool, generation), int(bits)) for driver, pool, generation, bits in seen)
        for seen in content["places"]
    ]
    views = inventory.show(places, relevant)
    table = StateTable(selectors)
    uses = [_read_use(each) for each in content["uses"]]
    at = [
        table.begin(view.kind, uses[number]).number for view, number in zip(views, content["at"], strict=True)
    ]
    return DeviceLedger(
        shapes=tuple(shapes),
        views=views,
        pools=inventory.pools,
        watchers=inventory.watchers,
        watched=inventory.watched,
        table=table,
        at=np.array(at, dtype=np.int64),
        allocated={(driver, pool): _read_given(*given) for driver, pool, *given in content["given"]},
        pending={name: _mark(rows, machines) for name, rows in content["pending"].items()},
        write=partial(save_ledger, LedgerSources(classes, texts, off)),
    )


def _mark(rows: Sequence[int], machines: int) -> Bool:
    found = np.zeros(machines, dtype=np.bool_)
    found[np.array(rows, dtype=np.int64)] = True
    return found


# --- saving and restoring claims --------------------------------------------------------------------------------------


def _drop_config(payload: bytes) -> str:
    """Return a DeviceClass's record without its configurations; an unreadable record stays unreadable."""
    try:
        spec = json.loads(payload)
        return json.dumps({"selectors": spec.get("selectors")})
    except (ValueError, AttributeError, RecursionError):
        return "null"


def _describe_shape(shape: ShapeClaims, specs: Sequence[str]) -> dict[str, Any]:
    claims = [_describe_claim(claim, text) for claim, text in zip(shape.claims, specs, strict=True)]
    return {"fault": shape.fault, "claims": claims}


def _describe_claim(claim: ClaimSpec | NamedClaim, text: str) -> dict[str, Any]:
    """Return a claim as it is saved.

    The saved claim has no name if each task has a claim of its own; it has machines if it is allocated.
    """
    found: dict[str, Any] = {"spec": _drop_claim_config(text)}
    if isinstance(claim, NamedClaim):
        found["name"] = claim.name
        if claim.machines is not None:
            found["machines"] = np.flatnonzero(claim.machines).tolist()
    return found


def _drop_claim_config(text: str) -> str:
    if not text:
        return text
    spec = json.loads(text)
    devices = {name: value for name, value in (spec.get("devices") or {}).items() if name != "config"}
    return json.dumps({"devices": devices})


def _read_spec(text: str, classes: Mapping[str, DeviceTerms], off: FeaturesOff) -> ClaimSpec:
    return read_claim(json.loads(text), classes, off) if text else ClaimSpec(())


def _read_classes(classes: Mapping[str, bytes]) -> dict[str, DeviceTerms]:
    found = {}
    for name, payload in classes.items():
        with suppress(BadDevicesError):
            found[name] = read_class(name, payload)
    return found


def _read_shape(given: Mapping[str, Any], specs: Mapping[str, ClaimSpec], machines: int) -> ShapeClaims:
    claims: list[ClaimSpec | NamedClaim] = []
    for each in given["claims"]:
        spec = specs[each["spec"]]
        reached = _mark(each["machines"], machines) if "machines" in each else None
        claims.append(NamedClaim(each["name"], spec, reached) if "name" in each else spec)
    return ShapeClaims(tuple(claims), str(given["fault"]))


# --- what is in use ---------------------------------------------------------------------------------------------------


def _describe_use(use: ViewUse) -> list[Any]:
    shares = [[device, _describe_amounts(amounts)] for device, amounts in use.shares]
    return [str(use.taken), shares, [str(each) for each in use.counters]]


def _read_use(given: Sequence[Any]) -> ViewUse:
    taken, shares, counters = given
    return ViewUse(
        int(taken),
        tuple((int(device), tuple(_read_amounts(amounts).items())) for device, amounts in shares),
        tuple(map(_read_amount, counters)),
    )


def _describe_given(given: AllocatedDevices) -> list[Any]:
    own, shares = given
    return [sorted(own), {device: _describe_amounts(amounts.items()) for device, amounts in shares.items()}]


def _read_given(own: Sequence[str], shares: Mapping[str, Any]) -> AllocatedDevices:
    return frozenset(own), {device: _read_amounts(amounts) for device, amounts in shares.items()}


def _describe_amounts(amounts: Iterable[tuple[str, Amount]]) -> list[list[str]]:
    return [[name, str(amount)] for name, amount in amounts]


def _read_amounts(given: Iterable[Sequence[str]]) -> dict[str, Amount]:
    return {name: _read_amount(text) for name, text in given}


def _read_amount(text: str) -> Amount:
    return simplify(Fraction(text))
