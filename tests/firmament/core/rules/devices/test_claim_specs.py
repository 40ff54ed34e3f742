"""What classes, claims and slices state, read: defaults, limits, faults, and features that are off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.rules.devices.devices_after_eviction import sum_given
from firmament.core.rules.devices.objects.features import (
    ADMIN_ACCESS,
    BINDING_CONDITIONS,
    CONSUMABLE_CAPACITY,
    FEATURES,
    LIST_ATTRIBUTES,
    PARTITIONS,
    PRIORITIZED_LIST,
    TAINTS,
    drop_from_slice,
    find_use,
    read_features,
)
from firmament.core.rules.devices.objects.inventory import (
    BadDevicesError,
    DeviceReach,
    build_pool,
    qualify,
    read_slice,
)
from firmament.core.rules.devices.objects.requests import (
    MOST_RESULTS,
    AttributeConstraint,
    DeviceTerms,
    Option,
    Request,
    read_claim,
    read_class,
)
from firmament.core.rules.devices.results import derive_share_id
from firmament.core.rules.devices.visible_devices import join_relevant, list_bits, matters
from firmament.core.state.device_allocations import Holding
from tests.support.devices import DRIVER, claim_spec, device, exactly, slice_spec

GPU = DeviceTerms("gpu", ("true",))
CLASSES = {"gpu": GPU}


def only_option(**fields: Any) -> Option:
    [request] = read_claim(claim_spec(exactly("gpu", **fields)), CLASSES).requests
    [option] = request.options
    return option


def test_an_option_that_states_little():
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    [request] = read_claim(spec, CLASSES).requests
    [option] = request.options
    assert (request.name, option.name, option.device_class, option.count) == ("r", "r", GPU, 1)
    assert (option.expressions, option.admin, option.tolerated, option.capacity) == ((), False, (), ())
    assert (option.tolerations_text, option.order) == ("", "")
    assert read_claim({}, CLASSES).requests == ()


def test_an_option_that_states_much():
    option = only_option(
        selectors=[{"cel": {"expression": "a"}}, {"cel": {"expression": "b"}}],
        adminAccess=True,
        tolerations=[{"key": "k", "effect": "NoExecute"}, {"operator": "Exists", "value": "v"}],
        capacity={"requests": {"slots": "2", "memory": "1Ki"}},
        order="spread",
    )
    assert option.expressions == ("a", "b")
    assert option.admin
    assert option.tolerated == (("k", "Equal", "", "NoExecute"), ("", "Exists", "v", ""))
    assert json.loads(option.tolerations_text)[0] == {"effect": "NoExecute", "key": "k"}
    assert option.capacity == (("memory", 1024), ("slots", 2))
    assert option.order == "spread"
    assert only_option(order="binpack").order == "binpack"
    assert only_option(order="other").order == ""


def test_options_in_order_of_preference():
    listed = [
        {"name": "big", "deviceClassName": "gpu", "count": 2},
        {"name": "small", "deviceClassName": "gpu"},
    ]
    spec = claim_spec({"name": "r", "firstAvailable": listed}, exactly("gpu", 0, name="all"))
    first, second = read_claim(spec, CLASSES).requests
    assert [(each.name, each.count) for each in first.options] == [("r/big", 2), ("r/small", 1)]
    assert [(each.name, each.count) for each in second.options] == [("all", 0)]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (claim_spec(exactly("")), "request r: missing device class name"),
        (claim_spec(exactly("other")), "request r: device class other does not exist"),
        (claim_spec(exactly("gpu", allocationMode="Some")), "request r: unsupported allocation mode Some"),
        (claim_spec(exactly("gpu", -1)), "request r: count -1 is negative"),
        (claim_spec({"name": "r"}), "request r: it has neither exactly nor firstAvailable"),
        (claim_spec(exactly("gpu", selectors=[{}])), "a selector has no CEL expression"),
        (claim_spec(exactly("gpu", capacity={"requests": {"a": "much"}})), "'much' is no quantity"),
        (claim_spec(constraints=[{}]), "a constraint is empty"),
        (claim_spec({}), r"the claim's spec cannot be read \(KeyError: 'name'\)"),
        ([], r"the claim's spec cannot be read \(AttributeError"),
        (
            claim_spec({"name": "r", "exactly": {"deviceClassName": "gpu", "count": "x"}}),
            r"the claim's spec cannot be read \(ValueError",
        ),
        (
            claim_spec(exactly("gpu", MOST_RESULTS), exactly("gpu", 1)),
            "the claim asks for 33 devices; at most 32 are possible",
        ),
    ],
)
def test_claims_that_cannot_be_used(spec: Any, words: str):
    with pytest.raises(BadDevicesError, match=words):
        read_claim(spec, CLASSES)


def test_as_many_devices_as_are_possible():
    listed = [
        {"name": "many", "deviceClassName": "gpu", "count": 30},
        {"name": "few", "deviceClassName": "gpu", "count": 2},
    ]
    spec = claim_spec(exactly("gpu", MOST_RESULTS - 2), {"name": "more", "firstAvailable": listed})
    assert len(read_claim(spec, CLASSES).requests) == 2


def test_constraints_and_configurations():
    spec = claim_spec(
        constraints=[
            {"matchAttribute": "d/numa", "requests": ["a"]},
            {"distinctAttribute": "d/slot"},
            {"sameValues": "d/links", "requests": ["a"], "others": ["b"]},
        ],
        config=[{"requests": ["a"], "opaque": {"driver": "d"}}, {"opaque": {}}],
    )
    found = read_claim(spec, CLASSES)
    assert found.constraints == (
        AttributeConstraint("d/numa", distinct=False, requests=("a",)),
        AttributeConstraint("d/slot", distinct=True, requests=()),
        AttributeConstraint("d/links", distinct=False, requests=("a",), others=("b",)),
    )
    assert found.configurations == ((("a",), '{"opaque": {"driver": "d"}}'), ((), '{"opaque": {}}'))
    old = read_claim(spec, CLASSES, frozenset({LIST_ATTRIBUTES})).constraints
    assert [each.lists for each in old] == [False, False, True]


def test_which_options_a_constraint_covers():
    every = AttributeConstraint("a", distinct=False, requests=())
    some = AttributeConstraint("a", distinct=False, requests=("r", "s/sub"), others=("t",))
    covered = [each for each in ("r", "r/x", "s", "s/sub", "s/other", "t", "t/x", "u") if some.covers(each)]
    assert covered == ["r", "r/x", "s/sub", "t", "t/x"]
    assert every.covers("r")
    assert [some.is_other("t/x"), some.is_other("r"), every.is_other("r")] == [True, False, False]


def test_classes():
    payload = json.dumps({"selectors": [{"cel": {"expression": "x"}}], "config": [{"b": 1, "a": 2}]}).encode()
    found = read_class("c", payload)
    assert (found.name, found.expressions, found.configurations) == ("c", ("x",), ('{"a": 2, "b": 1}',))
    empty = read_class("c", b"{}")
    assert (empty.expressions, empty.configurations) == ((), ())
    for bad, words in (
        (b"[]", "device class c: it is no DeviceClass"),
        (b'{"selectors": [{}]}', "a selector has"),
    ):
        with pytest.raises(BadDevicesError, match=words):
            read_class("c", bad)


def test_the_expressions_of_a_claim():
    options = (Option("a", GPU, ("x",), 1), Option("b", DeviceTerms("o", ("y",)), (), 1))
    spec = read_claim(claim_spec(exactly("gpu", 1, "z")), CLASSES)
    assert spec.expressions == {"true", "z"}
    assert Request("r", options).options[1].device_class.expressions == ("y",)


# --- slices ----------------------------------------------------------------------------------------------------------


def read(**fields: Any) -> Any:
    return read_slice("s", json.dumps(slice_spec("m", [device("d")], **fields)).encode())


def test_whom_a_slice_reaches():
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression], "matchFields": [expression]}]}
    assert read().reach == DeviceReach(machine="m")
    assert read(allNodes=True).reach == DeviceReach(everywhere=True)
    [term] = read(nodeSelector=selector).reach.terms
    assert [(each.key, each.operator, each.values) for each in (*term.labels, *term.fields)] == [
        ("zone", "In", ("a",))
    ] * 2
    apart = slice_spec("m", [device("d", nodeName="n")], perDeviceNodeSelection=True)
    found = read_slice("s", json.dumps(apart).encode())
    assert found.reach is None
    assert found.devices[0][1] == DeviceReach(machine="n")


def test_numbers_of_a_slice():
    found = read()
    assert (found.generation, found.count, found.pool, found.driver, found.name) == (1, 1, "m", DRIVER, "s")
    pool = {"name": "p", "resourceSliceCount": 3}
    assert read_slice("s", json.dumps({"driver": "x", "pool": pool}).encode()).count == 3
    with pytest.raises(BadDevicesError, match=r"it is no ResourceSlice \(KeyError"):
        read_slice("s", b'{"driver": "x", "pool": {"name": "p"}}')
    with pytest.raises(BadDevicesError, match="'x' is no quantity"):
        read_slice("s", json.dumps(slice_spec("m", [device("d", capacity={"a": {"value": "x"}})])).encode())


def pool_of(*specs: dict[str, Any]) -> Any:
    return build_pool([read_slice(f"s{n}", json.dumps(each).encode()) for n, each in enumerate(specs)])


def test_a_pool_of_several_slices():
    counters = [{"name": "set", "counters": {"b": {"value": "2"}, "a": {"value": "1"}}}]
    takes = [{"counterSet": "set", "counters": {"b": {"value": "1"}}}]
    pool = pool_of(
        slice_spec("m", [device("d0", consumesCounters=takes)], slices=2),
        slice_spec("m", [device("d1")], slices=2, sharedCounters=counters),
    )
    assert [each.name for each in pool.devices] == ["d0", "d1"]
    assert pool.counters == (0, 1, 2)
    assert [each.takes for each in pool.devices] == [((2, 1),), ()]
    assert (pool.incomplete, pool.fault) == (False, "")
    assert [name for name, _ in pool.slices] == ["s0", "s1"]


def test_pools_that_cannot_be_used():
    assert pool_of(slice_spec("m", [device("d")], slices=2)).incomplete
    assert pool_of(slice_spec("m", [device("d")], slices=2)).devices == ()
    assert pool_of(slice_spec("m", [device("d"), device("d")])).fault == "duplicate device name d"
    twice = [{"name": "set", "counters": {}}] * 2
    assert pool_of(slice_spec("m", [], sharedCounters=twice)).fault == "duplicate counter set name set"
    takes = [{"counterSet": "set", "counters": {"x": {"value": "1"}}}]
    missing = pool_of(slice_spec("m", [device("d", consumesCounters=takes), device("e")]))
    assert missing.fault == "counter x not found in counter set set"
    assert [each.name for each in missing.devices] == ["e"]


def test_names():
    assert qualify("a", "d") == "d/a"
    assert qualify("x/a", "d") == "x/a"
    share = derive_share_id("mark")
    assert [len(each) for each in share.split("-")] == [8, 4, 4, 4, 12]
    assert (share[14], share[19]) == ("4", "a")
    assert share == derive_share_id("mark") != derive_share_id("other")


# --- features --------------------------------------------------------------------------------------------------------


def test_which_features_are_off():
    gates = {TAINTS: False, PARTITIONS: True, "Other": False, ADMIN_ACCESS: None}
    assert read_features(json.dumps(gates).encode()) == {TAINTS}
    assert read_features(json.dumps(dict.fromkeys(FEATURES, False)).encode()) == FEATURES
    assert len(FEATURES) == 7
    for nothing in (None, b"", b"{}", b"[]", b"{"):
        assert read_features(nothing) == frozenset()


def test_what_is_dropped_from_a_slice():
    plain = device("plain", taints=[1], allowMultipleAllocations=True, bindsToNode=True)
    part = device("part", consumesCounters=[1])
    bound = device("bound", bindingConditions=["x"])
    spec = {"devices": [plain, part, bound], "kept": 1}

    def kept(*off: str, **more: Any) -> Any:
        return drop_from_slice({**spec, **more}, frozenset(off))

    def names(found: Any) -> list[str]:
        return [each["name"] for each in found["devices"]]

    assert kept() == spec
    assert names(kept(PARTITIONS)) == ["plain", "bound"]
    assert names(kept(BINDING_CONDITIONS)) == ["plain", "part"]
    assert kept(TAINTS)["devices"][0].keys() == plain.keys() - {"taints"}
    assert kept(CONSUMABLE_CAPACITY)["devices"][0].keys() == plain.keys() - {"allowMultipleAllocations"}
    assert kept(ADMIN_ACCESS) == spec
    for more in ({"perDeviceNodeSelection": True}, {"sharedCounters": [1]}):
        assert kept(PARTITIONS, **more) == {**spec, **more, "devices": (), "sharedCounters": ()}
        assert names(kept(TAINTS, **more)) == ["plain", "part", "bound"]


@pytest.mark.parametrize(
    ("request_of", "off", "words"),
    [
        (exactly("gpu"), FEATURES, ""),
        ({"name": "r", "firstAvailable": [{"name": "a"}]}, {PRIORITIZED_LIST},
         "request r: has subrequests, but the DRAPrioritizedList feature is disabled"),
        ({"name": "r", "firstAvailable": [{"name": "a"}]}, FEATURES - {PRIORITIZED_LIST}, ""),
        (exactly("gpu", capacity={}), {CONSUMABLE_CAPACITY},
         "request r: has capacity requests, but the DRAConsumableCapacity feature is disabled"),
        ({"name": "r", "firstAvailable": [{"name": "a"}, {"name": "b", "capacity": {}}]}, {CONSUMABLE_CAPACITY},
         "subrequest b: has capacity requests, but the DRAConsumableCapacity feature is disabled"),
        (exactly("gpu", capacity={}), FEATURES - {CONSUMABLE_CAPACITY}, ""),
        (exactly("gpu", adminAccess=True), {ADMIN_ACCESS},
         "request r: admin access is requested, but the feature is disabled"),
        (exactly("gpu", adminAccess=True), FEATURES - {ADMIN_ACCESS}, ""),
    ],
)  # fmt: skip
def test_uses_of_features_that_are_off(request_of: Any, off: frozenset[str], words: str):
    assert find_use(request_of, off) == words
    if words:
        with pytest.raises(BadDevicesError, match=words):
            read_claim(claim_spec(request_of), CLASSES, off)


# --- small parts -----------------------------------------------------------------------------------------------------


def test_what_has_been_given_of_a_pool():
    whole = Holding("", ())
    one, two = Holding("one", (("memory", "1Ki"), ("bad", "much"))), Holding("two", (("memory", "1"),))
    held: Any = {
        "a": [(whole, frozenset({"x"}))],
        "b": [(one, frozenset({"x"})), (one, frozenset({"y"})), (two, frozenset({"x"}))],
        "c": [(whole, frozenset())],
    }
    assert sum_given(held) == ({"a", "c"}, {"b": {"memory": 1025, "bad": 0}})
    assert sum_given(held, {"x"}) == ({"c"}, {"b": {"memory": 1024, "bad": 0}})
    assert sum_given(held, {"x", "y"}) == ({"c"}, {})


def test_relevant_attributes():
    assert matters("d/a", None)
    assert matters("d/a", frozenset({"d/a"}))
    assert matters("d/a", frozenset({"d/"}))
    assert not matters("d/a", frozenset({"d/b", "e/"}))
    assert join_relevant([frozenset({"a"}), frozenset({"b"})]) == frozenset({"a", "b"})
    assert join_relevant([frozenset({"a"}), None]) is None
    assert join_relevant([]) == frozenset()


def test_bits():
    assert list_bits(0) == []
    assert list_bits(0b1011) == [0, 1, 3]
    assert list_bits(1 << 70) == [70]
