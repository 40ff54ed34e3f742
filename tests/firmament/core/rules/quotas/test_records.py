"""Records of quotas and flavors that make no sense admit nobody, and stop no other queue."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from firmament.core.events import RecordUpserted
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.rules.quotas.records import StatedQuota, read_flavors, read_quotas
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks
from tests.support.effort import examples

CHAIN = {"d": "c", "c": "b", "b": "a", "a": ""}
"""Quotas, each below another one."""

ODD: tuple[dict[str, Any], ...] = (
    {"flavors": None},
    {"flavors": [{"resources": ["cpu"]}]},
    {"flavors": [{"resources": ["cpu"], "flavors": ["x", "x"]}]},
    {"flavors": [{"resources": ["cpu"] * 2, "flavors": ["x"]}]},
    {"flavors": [{"resources": ["cpu"], "flavors": [f"f{each}" for each in range(300)]}]},
    {"nominal": {"x": {"cpu": -1}}},
    {"nominal": {"x": {"cpu": 1.5}}},
    {"nominal": {"x": ["cpu"]}},
    {"weight": -1},
    {"weight": "much"},
    {"order": "LIFO"},
    {"preemption": {"within": ["Never"]}},
    {"preemption": {"borrow": {"threshold": "high"}}},
    {"parent": 3},
    {"uncovered": "perhaps"},
)


@pytest.mark.parametrize("stated", ODD, ids=str)
def test_an_odd_quota_says_so_and_others_go_on(stated: dict[str, Any]):
    odd = RecordUpserted(QUOTA_RECORD, "odd", json.dumps(stated).encode())
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        odd,
        quota("good", {"any": {"cpu": 1000}}),
        tasks(1, "t", content=task_class(1000, queue="odd")),
        tasks(2, "g", content=task_class(1000, queue="good")),
    )
    result = core.run_round()
    assert set(placed(result)) == {"g"}
    assert "1 quota: queue odd admits nobody (odd cannot be read: " in messages(result)["t"]


def test_quotas_below_each_other_in_a_circle_or_too_deep_are_none():
    circle = {name: json.dumps({"parent": other}).encode() for name, other in (("a", "b"), ("b", "a"))}
    chain = {
        f"n{each}": json.dumps({"parent": f"n{each - 1}" if each else ""}).encode() for each in range(50)
    }
    found = read_quotas({**circle, **chain})
    assert found["a"].fault
    assert found["b"].fault
    assert not found["n31"].fault
    assert found["n32"].fault


def test_whatever_a_payload_holds_is_read():
    values: tuple[Any, ...] = (
        None,
        True,
        -1,
        10**30,
        1e300,
        "x",
        [],
        {},
        [{}],
        {"cpu": {}},
        {"x": {"cpu": 10**30}},
    )
    keys = (
        "parent",
        "flavors",
        "nominal",
        "lending",
        "limit",
        "weight",
        "fair",
        "order",
        "preemption",
        "active",
        "message",
    )
    for seed in range(examples(500, least=100)):
        draw = random.Random(seed)
        document = {key: draw.choice(values) for key in draw.sample(keys, draw.randint(0, 4))}
        read_quotas({"q": json.dumps(document).encode()})
        flavors = {key: draw.choice(values) for key in ("labels", "taints", "tolerations")}
        read_flavors({"f": json.dumps(flavors).encode()})
    assert read_quotas({"q": b"["})["q"].fault
    assert read_flavors({"f": b"\xff"}) == {}


def test_only_quotas_whose_payloads_have_changed_are_read_again():
    payloads = {name: json.dumps({"weight": 2, "parent": parent}).encode() for name, parent in CHAIN.items()}
    known: dict[str, tuple[bytes, StatedQuota]] = {}
    first = read_quotas(payloads, known)
    del payloads["c"]
    payloads["b"] = b"{}"
    second = read_quotas(payloads, known)
    assert second["a"] is first["a"]
    assert (second["b"].weight, second["b"].parent) == (1.0, "")
    assert [*second] == ["a", "b", "d"]
    assert second == read_quotas(payloads)
    assert second["d"].fault == "c, above d, does not exist"
    payloads["c"] = b"{}"
    assert read_quotas(payloads, known)["d"].fault == ""
