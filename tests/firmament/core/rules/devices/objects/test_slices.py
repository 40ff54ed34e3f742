"""Slices, field by field, and the pools that they make up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.rules.devices.objects.features import (
    FEATURES,
    drop_from_slice,
    find_use,
    read_features,
)
from firmament.core.rules.devices.objects.inventory import (
    BadDevicesError,
    Capacity,
    DeviceReach,
    Policy,
    Pool,
    PublishedDevice,
    Slice,
    build_pool,
    qualify,
    read_slice,
    read_terms,
)

POOL = {"name": "p", "generation": 3, "resourceSliceCount": 1}


def read(name: str = "s", *devices: dict[str, Any], count: int = 1, **spec: Any) -> Slice:
    given = {
        "driver": "d.io", "nodeName": "n", "pool": {**POOL, "resourceSliceCount": count}, "devices": list(devices),
    }  # fmt: skip
    return read_slice(name, json.dumps({**given, **spec}).encode())


def only(**device: Any) -> PublishedDevice:
    ((found, _, _),) = read("s", {"name": "x", **device}).devices
    return found


BAD_CAPACITY = json.dumps(
    {"pool": POOL, "driver": "d", "devices": [{"name": "x", "capacity": {"m": {"value": "?"}}}]}
).encode()


class TestSlices:
    def test_what_a_slice_says_of_itself(self):
        found = read("s", {"name": "x"}, count=2)
        assert (found.name, found.driver, found.pool, found.generation, found.count) == (
            "s",
            "d.io",
            "p",
            3,
            2,
        )
        assert (found.counters, len(found.devices)) == ((), 1)
        assert json.loads(found.payload)["nodeName"] == "n"
        assert read(pool={"name": "p", "resourceSliceCount": 1}).generation == 0

    @pytest.mark.parametrize(
        ("stated", "reach"),
        [
            ({}, DeviceReach(machine="n")),
            ({"nodeName": "", "allNodes": True}, DeviceReach(everywhere=True)),
            ({"nodeName": "", "allNodes": False}, DeviceReach()),
            ({"nodeName": "n", "allNodes": True}, DeviceReach(machine="n")),
            ({"perDeviceNodeSelection": True}, None),
        ],
    )
    def test_its_reach(self, stated: dict[str, Any], reach: DeviceReach | None):
        assert read(**stated).reach == reach

    def test_a_reach_by_labels(self):
        selector = {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a", "b"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
            ]
        }
        terms = (
            NodeSelectorTerm((Requirement("k", "In", ("a", "b")),), ()),
            NodeSelectorTerm((), (Requirement("metadata.name", "In", ("n",)),)),
        )
        assert read_terms(selector) == terms
        assert read(nodeName=None, nodeSelector=selector).reach == DeviceReach(terms=terms)
        assert read_terms(None) == read_terms({}) == ()

    def test_shared_counters_and_their_sets(self):
        sets = [{"name": "b", "counters": {"y": {"value": "2"}, "x": {"value": "1Ki"}}}, {"name": "a"}]
        assert read(sharedCounters=sets).counters == (
            ("b", "", 0), ("b", "x", 1024), ("b", "y", 2), ("a", "", 0),
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("payload", "words"),
        [
            (b"{", "it is no ResourceSlice (JSONDecodeError: "),
            (b"{}", "it is no ResourceSlice (KeyError: 'pool')"),
            (
                b'{"pool": {"name": "p"}, "driver": "d"}',
                "it is no ResourceSlice (KeyError: 'resourceSliceCount')",
            ),
            (
                BAD_CAPACITY,
                "'?' is no quantity",
            ),
        ],
    )
    def test_what_is_none_is_named(self, payload: bytes, words: str):
        with pytest.raises(BadDevicesError) as refused:
            read_slice("s", payload)
        assert str(refused.value).startswith(words)


class TestDevices:
    def test_defaults(self):
        assert only() == PublishedDevice("x", {}, {}, 0)

    def test_attributes_have_full_names(self):
        found = only(
            attributes={
                "a": {"int": 0}, "o.io/b": {"bool": False}, "c": {"string": "t"}, "v": {"version": "1.0"},
                "l": {"ints": [1, 2]}, "m": {"strings": []}, "w": {"versions": ["1", "2"]}, "e": {},
            }
        ).attributes  # fmt: skip
        assert found == {
            "d.io/a": 0, "o.io/b": False, "d.io/c": "t", "d.io/v": ("version", "1.0"), "d.io/l": [1, 2],
            "d.io/m": [], "d.io/w": [("version", "1"), ("version", "2")], "d.io/e": None,
        }  # fmt: skip
        assert (qualify("a", "d"), qualify("x/a", "d")) == ("d/a", "x/a")

    def test_capacities_and_their_policies(self):
        policy = {
            "default": "1",
            "validValues": ["1", "2Ki"],
            "validRange": {"min": "3", "max": "9", "step": "2"},
        }
        found = only(
            capacity={"m": {"value": "4", "requestPolicy": policy}, "o.io/n": {"value": "5"}}
        ).capacity
        assert found == {"m": Capacity(4, Policy(1, (1, 2048), 3, 9, 2)), "o.io/n": Capacity(5)}

    def test_taints_and_flags(self):
        found = only(
            taints=[{"key": "k", "value": "v", "effect": "NoExecute"}, {}],
            allowMultipleAllocations=True, bindsToNode=True,
            bindingConditions=["c"], bindingFailureConditions=["f", "g"],
        )  # fmt: skip
        assert found.device_taints == (("k", "v", "NoExecute"), ("", "", ""))
        assert (found.shared, found.binds_to_machine) == (True, True)
        assert (found.conditions, found.failures) == (("c",), ("f", "g"))

    def test_what_it_takes_and_reaches(self):
        consumed = [
            {"counterSet": "s", "counters": {"b": {"value": "2"}, "a": {"value": "1"}}},
            {"counterSet": "t"},
        ]
        found = read(
            "s", {"name": "x", "nodeName": "m", "consumesCounters": consumed}, perDeviceNodeSelection=True
        )
        ((_, own, takes),) = found.devices
        assert own == DeviceReach(machine="m")
        assert takes == (("s", "a", 1), ("s", "b", 2), ("t", "", 0))


class TestPools:
    def test_slices_are_combined_in_the_order_of_their_names(self):
        pool = build_pool(
            [read("b", {"name": "y"}, count=2), read("a", {"name": "x"}, {"name": "w"}, count=2)]
        )
        assert (pool.driver, pool.name, pool.incomplete, pool.fault) == ("d.io", "p", False, "")
        assert [each.name for each in pool.devices] == ["x", "w", "y"]
        assert [name for name, _ in pool.slices] == ["a", "b"]
        assert pool.reaches == (DeviceReach(machine="n"),)

    @pytest.mark.parametrize("count", [2, 0])
    def test_with_missing_slices_no_device_counts(self, count: int):
        pool = build_pool([read("a", {"name": "x"}, count=count)])
        assert (pool.incomplete, pool.devices, pool.counters, pool.fault) == (True, (), (), "")
        assert pool.reaches == (DeviceReach(machine="n"),)
        assert len(pool.slices) == 1

    def test_reaches_are_numbered_for_all_devices(self):
        own = read(
            "a", {"name": "x", "nodeName": "m"}, {"name": "y", "allNodes": True}, {"name": "z", "nodeName": "m"},
            count=2, perDeviceNodeSelection=True,
        )  # fmt: skip
        pool = build_pool([own, read("b", {"name": "v"}, count=2)])
        assert pool.reaches == (
            DeviceReach(everywhere=True), DeviceReach(machine="m"), DeviceReach(machine="n"),
        )  # fmt: skip
        assert [(each.name, each.reach) for each in pool.devices] == [("x", 1), ("y", 0), ("z", 1), ("v", 2)]

    def pooled(self, *devices: dict[str, Any], sets: list[dict[str, Any]] | None = None) -> Pool:
        return build_pool([read("a", *devices, sharedCounters=sets or [])])

    def test_devices_take_of_counters_by_number(self):
        sets = [{"name": "s", "counters": {"a": {"value": "8"}, "b": {"value": "4"}}}]
        takes = [{"counterSet": "s", "counters": {"b": {"value": "1"}}}]
        pool = self.pooled({"name": "x", "consumesCounters": takes}, sets=sets)
        assert pool.counters == (0, 8, 4)
        assert pool.devices[0].takes == ((2, 1),)

    @pytest.mark.parametrize(
        ("devices", "sets", "fault", "left"),
        [
            ([{"name": "x"}, {"name": "x"}], [], "duplicate device name x", 2),
            ([{"name": "x"}], [{"name": "s"}, {"name": "s"}], "duplicate counter set name s", 1),
            (
                [{"name": "x", "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]}],
                [{"name": "s"}],
                "counter c not found in counter set s",
                0,
            ),
        ],
    )
    def test_contradictions_are_faults(
        self, devices: list[dict[str, Any]], sets: list[dict[str, Any]], fault: str, left: int
    ):
        pool = self.pooled(*devices, sets=sets)
        assert (pool.fault, len(pool.devices), pool.incomplete) == (fault, left, False)

    def test_the_first_fault_is_named(self):
        pool = self.pooled({"name": "x"}, {"name": "x"}, sets=[{"name": "s"}, {"name": "s"}])
        assert pool.fault == "duplicate counter set name s"
        twice = self.pooled({"name": "x"}, {"name": "x"}, {"name": "y"}, {"name": "y"})
        assert twice.fault == "duplicate device name x"


class TestFeatures:
    @pytest.mark.parametrize(
        ("payload", "off"),
        [
            (None, set()),
            (b"", set()),
            (b"{", set()),
            (b"[]", set()),
            (b'{"DRAAdminAccess": false, "DRADeviceTaints": true}', {"DRAAdminAccess"}),
            (b'{"Unknown": false, "DRADeviceTaints": null}', set()),
        ],
    )
    def test_gates_that_are_off(self, payload: bytes | None, off: set[str]):
        assert read_features(payload) == off

    SPEC: dict[str, Any] = {  # noqa: RUF012 (never changed)
        "devices": [
            {"name": "a", "taints": [1], "allowMultipleAllocations": True},
            {"name": "b", "consumesCounters": [1]},
            {"name": "c", "bindingConditions": ["x"]},
        ],
        "kept": 1,
    }

    def test_nothing_is_dropped_while_all_are_on(self):
        assert drop_from_slice(self.SPEC, frozenset()) is self.SPEC
        untouched = drop_from_slice(self.SPEC, frozenset({"DRAAdminAccess"}))
        assert untouched == self.SPEC

    @pytest.mark.parametrize(
        ("off", "devices"),
        [
            ("DRADeviceTaints", [{"name": "a", "allowMultipleAllocations": True}, *SPEC["devices"][1:]]),
            ("DRAConsumableCapacity", [{"name": "a", "taints": [1]}, *SPEC["devices"][1:]]),
            ("DRAPartitionableDevices", [SPEC["devices"][0], SPEC["devices"][2]]),
            ("DRADeviceBindingConditions", SPEC["devices"][:2]),
        ],
    )
    def test_what_is_dropped(self, off: str, devices: list[dict[str, Any]]):
        assert off in FEATURES
        assert drop_from_slice(self.SPEC, frozenset({off})) == {"devices": devices, "kept": 1}

    @pytest.mark.parametrize("sign", ["perDeviceNodeSelection", "sharedCounters"])
    def test_slices_of_partitions_have_no_devices(self, sign: str):
        spec = {**self.SPEC, sign: [1]}
        found = drop_from_slice(spec, frozenset({"DRAPartitionableDevices"}))
        assert (found["devices"], found["sharedCounters"], found["kept"]) == ((), (), 1)
        assert drop_from_slice(spec, frozenset({"DRADeviceTaints"}))["devices"]

    @pytest.mark.parametrize(
        ("request_of", "off", "words"),
        [
            (
                {"firstAvailable": [{}]},
                "DRAPrioritizedList",
                "request r: has subrequests, but the DRAPrioritizedList ",
            ),
            (
                {"exactly": {"capacity": {}}},
                "DRAConsumableCapacity",
                "request r: has capacity requests, but the ",
            ),
            (
                {"firstAvailable": [{"name": "a"}, {"name": "b", "capacity": {}}]},
                "DRAConsumableCapacity",
                "subrequest b: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            ),
            (
                {"exactly": {"adminAccess": True}},
                "DRAAdminAccess",
                "request r: admin access is requested, but ",
            ),
        ],
    )
    def test_what_a_request_uses_of_them(self, request_of: dict[str, Any], off: str, words: str):
        given = {"name": "r", **request_of}
        assert find_use(given, frozenset({off})).startswith(words)
        used = {"DRAPrioritizedList"} if "firstAvailable" in request_of else set()
        for other in FEATURES - {off} - used:
            assert find_use(given, frozenset({other})) == ""
        assert find_use({"name": "r", "exactly": {}}, FEATURES) == ""
        assert find_use({"name": "r", "exactly": {"adminAccess": False, "capacity": None}}, FEATURES) == ""
