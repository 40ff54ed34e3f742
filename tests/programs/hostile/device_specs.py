"""Classes, slices, claims and allocations of devices: as drivers and people write them, and spoiled somewhere.

Expressions may be costly, deep, long or without an answer. Nothing here names the devices of decent tenants.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.programs.hostile import values

DRIVER = "mallory.example"
CLASSES = ("mallory-0", "mallory-1", "mallory-2")
MOST_EXPRESSIONS = 32
"""Of one request; so many requests a claim may have, too. The API server allows no more."""

_SOUND = (
    "true",
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].numa == 0',
    f'device.attributes["{DRIVER}"].model.startsWith("a")',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0',
    f'device.attributes["{DRIVER}"].?fast.orValue(false)',
)
_RANGE = "[" + ",".join(map(str, range(60))) + "]"
_COSTLY = (
    f"{_RANGE}.all(a, {_RANGE}.all(b, {_RANGE}.all(c, a + b + c >= 0)))",
    f"{_RANGE}.map(a, {_RANGE}).map(a, a.map(b, {_RANGE})).size() > 0",
    "cel.bind(a, [1, 1] + [1, 1], cel.bind(b, a + a + a + a, cel.bind(c, b + b + b + b, c + c + c + c).size() > 0))",
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$")',
    '"a".matches("(((a{1,30}){1,30}){1,30})")',
    "lists.range(1000000).size() > 0",
    '"' + "x" * 900 + '".replace("x", "' + "y" * 900 + '").replace("y", "' + "z" * 900 + '").size() > 0',
    '"%9000000d".format([1]).size() > 0',
    '"' + "a," * 400 + '".split(",").map(a, "' + "b," * 400 + '".split(",").join(a)).join("").size() > 0',
)
_ODD = (
    "",
    " ",
    "1",
    '"true"',
    "null",
    "device",
    "devices.all",
    "1 / 0 == 1",
    "9223372036854775807 + 1 > 0",
    f'device.attributes["{DRIVER}"].no_such == 1',
    f'device.attributes["{DRIVER}"].model + 1 == 2',
    'quantity("x").isGreaterThan(quantity("1"))',
    'semver("not a version").major() == 1',
    '"a".matches("(")',
    "(" * 4_000 + "true" + ")" * 4_000,
    "!" * 9_000 + "true",
    "[" * 3_000 + "]" * 3_000,
    "a" * 20_000,
    "true" + " || true" * 5_000,
    "{1: 2, 1: 3}.size() == 1",
    '"\\ud800" == "\\x00"',
    "true ? : false",
    "0x" + "f" * 3_000 + " > 0",
)


def draw_expression(random: Random, wild: float) -> str:
    """Draw an expression of a selector; ``wild``: how likely it is hostile."""
    if random.random() >= wild:
        return random.choice(_SOUND)
    return random.choice(random.choice((_COSTLY, _ODD, values.TEXTS)))


def draw_class(random: Random, wild: float) -> Any:
    """Draw the spec of a DeviceClass."""
    expressions = [f'device.driver == "{DRIVER}"', *_draw_expressions(random, wild)]
    found: dict[str, Any] = {"selectors": [_select(each) for each in expressions]}
    if random.random() < 0.2:
        found["extendedResourceName"] = random.choice(("mallory.example/gpu", "cpu", values.text(random)))
    if random.random() < 0.2:
        found["config"] = [{"opaque": {"driver": DRIVER, "parameters": {"a": 1}}}]
    return _spoil(random, found, wild)


def draw_slice(random: Random, wild: float, machines: Sequence[str]) -> Any:
    """Draw the spec of a ResourceSlice that one of ``machines``, some or all of them reach."""
    counted = random.random() < 0.3
    reach = random.choice(
        (
            {"nodeName": random.choice(machines)},
            {"nodeName": random.choice(machines)},
            {"allNodes": True},
            {"nodeSelector": {"nodeSelectorTerms": [_term(machines, random)]}},
        )
    )
    found: dict[str, Any] = {
        "driver": DRIVER,
        "pool": {
            "name": random.choice(("p", "q", "r")),
            "generation": random.choice((0, 1, 1, 2)),
            "resourceSliceCount": random.choice((1, 1, 1, 2)),
        },
        "devices": [_device(random, f"d{index}", counted) for index in range(random.choice((0, 1, 2, 4, 8)))],
        **reach,
    }
    if counted:
        found["sharedCounters"] = [{"name": "whole", "counters": {"slots": {"value": "4"}}}]
    return _spoil(random, found, wild)


def draw_claim(random: Random, wild: float) -> Any:
    """Draw the spec of a ResourceClaim."""
    requests = [_request(random, f"r{index}", wild) for index in range(random.choice((1, 1, 2, 3)))]
    found: dict[str, Any] = {"requests": requests}
    if random.random() < 0.3:
        kind = random.choice(("matchAttribute", "distinctAttribute"))
        found["constraints"] = [{kind: f"{DRIVER}/{random.choice(('numa', 'model', 'link', 'none'))}"}]
    if random.random() < 0.1 * wild:
        found["requests"] = [draw_heavy_request(random, index) for index in range(MOST_EXPRESSIONS)]
    return _spoil(random, {"devices": found}, wild)


def draw_allocation(random: Random, wild: float, machines: Sequence[str]) -> Any:
    """Draw what a claim has been given, or None."""
    if random.random() < 0.6:
        return None
    results = [
        {
            "request": "r0",
            "driver": DRIVER,
            "pool": random.choice(("p", "q", "r", "gone")),
            "device": f"d{random.randint(0, 8)}",
            **random.choice(
                ({}, {"shareID": "s0", "consumedCapacity": {"memory": random.choice(values.AMOUNTS)}})
            ),
        }
        for _ in range(random.choice((0, 1, 2)))
    ]
    found = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [_term(machines, random)]},
    }
    return _spoil(random, found, wild)


def _spoil(random: Random, document: Any, wild: float) -> Any:
    while random.random() < wild:
        document = values.spoil(random, document)
    return document


def _select(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


def _draw_expressions(random: Random, wild: float) -> list[str]:
    return [draw_expression(random, wild) for _ in range(random.choice((0, 0, 1, 1, 2)))]


def draw_heavy_request(random: Random, index: int) -> dict[str, Any]:
    """Draw a request with as many expressions as the API server allows, all costly and all different."""
    numa = f'device.attributes["{DRIVER}"].numa'
    texts = [
        f"{_RANGE}.all(a, {_RANGE}.all(b, a + b + {numa} > -{each + 1}))" for each in range(MOST_EXPRESSIONS)
    ]
    texts = [f"{each} && {index} >= 0" for each in texts]
    exactly = {"deviceClassName": random.choice(CLASSES[:1]), "selectors": [_select(each) for each in texts]}
    return {"name": f"r{index}", "exactly": exactly}


def _request(random: Random, name: str, wild: float) -> dict[str, Any]:
    if random.random() < 0.2:
        return {"name": name, "firstAvailable": [{"name": each, **_option(random, wild)} for each in "ab"]}
    found = _option(random, wild)
    if random.random() < 0.05:
        found["adminAccess"] = True
    return {"name": name, "exactly": found}


def _option(random: Random, wild: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "deviceClassName": random.choice((*CLASSES, CLASSES[0], "none")),
        "selectors": [_select(each) for each in _draw_expressions(random, wild)],
        "allocationMode": random.choice(("ExactCount", "ExactCount", "All")),
    }
    if found["allocationMode"] == "ExactCount":
        found["count"] = random.choice((1, 1, 1, 2, 4, 32))
    if random.random() < 0.2:
        found["tolerations"] = [{"key": "k", "operator": random.choice(("Exists", "Equal"))}]
    if random.random() < 0.2:
        found["capacity"] = {"requests": {"memory": random.choice(("1Gi", "3Gi", "1e3"))}}
    return found


def _device(random: Random, name: str, counted: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "numa": {"int": random.randint(0, 1)},
        "model": {"string": random.choice(("a100", "h100"))},
        "fast": {"bool": True},
        "link": {"ints": [0, 1]},
        "driverVersion": {"version": "1.2.3"},
    }
    found: dict[str, Any] = {
        "name": name,
        "attributes": {key: attributes[key] for key in random.sample([*attributes], random.randint(0, 5))},
        "capacity": {"memory": {"value": random.choice(("1Gi", "4Gi"))}},
    }
    if counted:
        found["consumesCounters"] = [{"counterSet": "whole", "counters": {"slots": {"value": "1"}}}]
    if random.random() < 0.2:
        found["allowMultipleAllocations"] = True
        policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": random.choice(("1Gi", "1", "0"))}}
        found["capacity"]["memory"]["requestPolicy"] = policy
    if random.random() < 0.2:
        found["taints"] = [
            {"key": "k", "value": "v", "effect": random.choice(("NoSchedule", "NoExecute", "None"))}
        ]
    if random.random() < 0.1:
        found["bindingConditions"], found["bindingFailureConditions"] = ["ready"], ["failed"]
    return found


def _term(machines: Sequence[str], random: Random) -> dict[str, Any]:
    named = {"key": "metadata.name", "operator": "In", "values": [random.choice(machines)]}
    labelled = {"key": "kubernetes.io/hostname", "operator": "Exists"}
    return random.choice(({"matchFields": [named]}, {"matchExpressions": [labelled]}))
