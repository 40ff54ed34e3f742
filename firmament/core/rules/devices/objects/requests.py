"""Reads what claims ask for: their specs, and their device classes (resource.k8s.io/v1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmament.core.rules.devices.objects.features import LIST_ATTRIBUTES, NOTHING_OFF, FeaturesOff, find_use
from firmament.core.rules.devices.objects.inventory import BadDevicesError, read_amount
from firmament.core.rules.devices.objects.quantities import Amount

MOST_RESULTS = 32
"""The most devices that the API allows a claim to get."""
PACKED, SPREAD = "binpack", "spread"
"""Orders in which a request tries shared devices: those most in use first (binpack), or last (spread)."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTerms:
    """The content of a DeviceClass. ``configurations``: the entries of its ``config``, as JSON."""

    name: str
    expressions: tuple[str, ...]
    configurations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to satisfy a request: an exact request, or a sub-request."""

    name: str
    """The option's name in allocations: ``request`` or ``request/subrequest``."""
    device_class: DeviceTerms
    """The class of the devices that the option takes."""
    expressions: tuple[str, ...]
    """The option's own CEL expressions, besides those of the device class."""
    count: int
    """How many devices the option takes; 0: all that match."""
    admin: bool = False
    """Whether the option gets administrative access, also to devices that other claims have."""
    tolerated: tuple[tuple[str, str, str, str], ...] = ()
    """(key, operator, value, effect) of each toleration of the option."""
    tolerations_text: str = ""
    """The option's tolerations as JSON, as the claim states them."""
    capacity: tuple[tuple[str, Amount], ...] = ()
    """(name as given, amount) of each requested capacity."""
    order: str = ""
    """The order in which the option tries devices: `PACKED`, `SPREAD`, or "" for the order in which slices list them.

    Kubernetes' API has no field for an order; only claims that the bridge makes from annotations state one.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request of a claim; ``options``, in order of preference, are the ways to satisfy it."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class AttributeConstraint:
    """A constraint on an attribute: the devices of some requests must have equal, or ``distinct``, values.

    ``requests``: the names of the requests that the constraint covers; (): all requests.
    """

    attribute: str
    distinct: bool
    requests: tuple[str, ...]
    lists: bool = True
    """Whether attributes may have several values; if not, an attribute with several values counts as absent."""
    others: tuple[str, ...] = ()
    """Further requests, whose devices together must have exactly the values that the devices of ``requests`` have.

    Kubernetes' API has no such field; only claims that the bridge makes from annotations use ``others``.
    """

    def covers(self, option: str) -> bool:
        """Return whether the constraint applies to the devices of an option."""
        return not self.requests or _names(self.requests, option) or self.is_other(option)

    def is_other(self, option: str) -> bool:
        """Return whether an option belongs to the requests ``others``."""
        return _names(self.others, option)


def _names(requests: tuple[str, ...], option: str) -> bool:
    return option in requests or option.partition("/")[0] in requests


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSpec:
    """A claim's spec, combined with the present content of its device classes."""

    requests: tuple[Request, ...]
    constraints: tuple[AttributeConstraint, ...] = ()
    configurations: tuple[tuple[tuple[str, ...], str], ...] = ()
    """(names of the requests, configuration as JSON) of each configuration."""

    @property
    def expressions(self) -> frozenset[str]:
        """All expressions of the claim's options and of their device classes."""
        options = [option for request in self.requests for option in request.options]
        return frozenset(
            text for each in options for text in (*each.device_class.expressions, *each.expressions)
        )


def read_class(name: str, payload: bytes) -> DeviceTerms:
    """Return the content of the DeviceClass that a record states; raise ``BadDevicesError`` if it is invalid."""
    try:
        spec = json.loads(payload)
        return DeviceTerms(
            name,
            _read_expressions(spec.get("selectors")),
            tuple(json.dumps(each, sort_keys=True) for each in spec.get("config") or ()),
        )
    except BadDevicesError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadDevicesError(f"device class {name}: it is no DeviceClass ({error})") from error


def read_claim(spec: Any, classes: Mapping[str, DeviceTerms], off: FeaturesOff = NOTHING_OFF) -> ClaimSpec:
    """Return what a claim's spec requests.

    Raise ``BadDevicesError`` if the spec is invalid, for example because a class does not exist. A spec that uses a
    feature in ``off`` is invalid too.
    """
    try:
        devices = spec.get("devices") or {}
        requests = tuple(_read_request(each, classes, off) for each in devices.get("requests") or ())
        constraints = tuple(_read_constraint(each, off) for each in devices.get("constraints") or ())
        configurations = tuple(
            (
                tuple(map(str, each.get("requests") or ())),
                json.dumps({key: value for key, value in each.items() if key != "requests"}, sort_keys=True),
            )
            for each in devices.get("config") or ()
        )
    except BadDevicesError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadDevicesError(f"the claim's spec cannot be read ({type(error).__name__}: {error})") from error
    least = sum(min(option.count for option in request.options) for request in requests)
    if least > MOST_RESULTS:
        raise BadDevicesError(f"the claim asks for {least} devices; at most {MOST_RESULTS} are possible")
    return ClaimSpec(requests, constraints, configurations)


def _read_request(given: Mapping[str, Any], classes: Mapping[str, DeviceTerms], off: FeaturesOff) -> Request:
    name = str(given["name"])
    fault = find_use(given, off)
    if fault:
        raise BadDevicesError(fault)
    listed = given.get("firstAvailable")
    if listed:
        options = tuple(_read_option(f"{name}/{each['name']}", each, classes) for each in listed)
    elif given.get("exactly") is not None:
        options = (_read_option(name, given["exactly"], classes),)
    else:
        raise BadDevicesError(f"request {name}: it has neither exactly nor firstAvailable")
    return Request(name, options)


def _read_option(name: str, given: Mapping[str, Any], classes: Mapping[str, DeviceTerms]) -> Option:
    wanted = str(given.get("deviceClassName") or "")
    if not wanted:
        raise BadDevicesError(f"request {name}: missing device class name (unsupported request type?)")
    if wanted not in classes:
        raise BadDevicesError(f"request {name}: device class {wanted} does not exist")
    mode = given.get("allocationMode") or "ExactCount"
    if mode not in {"ExactCount", "All"}:
        raise BadDevicesError(f"request {name}: unsupported allocation mode {str(mode)[:40]}")
    count = 0 if mode == "All" else int(given.get("count") or 1)
    if count < 0:
        raise BadDevicesError(f"request {name}: count {count} is negative")
    tolerations = given.get("tolerations") or ()
    requested = (given.get("capacity") or {}).get("requests") or {}
    return Option(
        name=name,
        device_class=classes[wanted],
        expressions=_read_expressions(given.get("selectors")),
        count=count,
        admin=bool(given.get("adminAccess")),
        tolerated=tuple(
            (
                str(each.get("key") or ""),
                str(each.get("operator") or "Equal"),
                str(each.get("value") or ""),
                str(each.get("effect") or ""),
            )
            for each in tolerations
        ),
        tolerations_text=json.dumps(tolerations, sort_keys=True) if tolerations else "",
        capacity=tuple(sorted((str(key), read_amount(value)) for key, value in requested.items())),
        order=order if (order := given.get("order")) in {PACKED, SPREAD} else "",
    )


def _read_expressions(selectors: Any) -> tuple[str, ...]:
    found = []
    for each in selectors or ():
        if not each.get("cel"):
            raise BadDevicesError("a selector has no CEL expression (unsupported selector type?)")
        found.append(str(each["cel"]["expression"]))
    return tuple(found)


def _read_constraint(given: Mapping[str, Any], off: FeaturesOff) -> AttributeConstraint:
    lists = LIST_ATTRIBUTES not in off
    requests = tuple(map(str, given.get("requests") or ()))
    if given.get("matchAttribute"):
        return AttributeConstraint(
            str(given["matchAttribute"]), distinct=False, requests=requests, lists=lists
        )
    if given.get("distinctAttribute"):
        return AttributeConstraint(
            str(given["distinctAttribute"]), distinct=True, requests=requests, lists=lists
        )
    if given.get("sameValues"):
        others = tuple(map(str, given.get("others") or ()))
        return AttributeConstraint(str(given["sameValues"]), distinct=False, requests=requests, others=others)
    raise BadDevicesError("a constraint is empty (unsupported constraint type?)")


def tolerates(tolerations: tuple[tuple[str, str, str, str], ...], taint: tuple[str, str, str]) -> bool:
    """Return whether one of the tolerations tolerates a taint of a device."""
    key, value, effect = taint
    return any(
        (not wanted_effect or wanted_effect == effect)
        and (not wanted_key or wanted_key == key)
        and (operator == "Exists" or (operator == "Equal" and wanted_value == value))
        for wanted_key, operator, wanted_value, wanted_effect in tolerations
    )
