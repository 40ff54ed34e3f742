"""The allocations that are written for claims: results, configurations, and the machines that may use them."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.rules.devices.allocation.search import Pick
from firmament.core.rules.devices.objects.inventory import DeviceReach, Pool, PublishedDevice
from firmament.core.rules.devices.objects.requests import ClaimSpec, DeviceTerms, Option, Request
from firmament.core.rules.devices.results import derive_share_id, find_device, write_allocation
from firmament.core.rules.devices.visible_devices import Place, SeenDevice, View, ViewKind

GPU = DeviceTerms("gpu", (), ('{"opaque": 1}',))
NIC = DeviceTerms("nic", (), ('{"opaque": 2}', '{"opaque": 3}'))
LOCAL, EVERYWHERE = DeviceReach(machine="m"), DeviceReach(everywhere=True)


def labelled(*terms: tuple[str, str]) -> DeviceReach:
    """The machines with one of these labels, a term each."""
    return DeviceReach(
        terms=tuple(NodeSelectorTerm((Requirement(key, "In", (value,)),)) for key, value in terms)
    )


def option(name: str = "r", device_class: DeviceTerms = GPU, **more: Any) -> Option:
    return Option(name, device_class, (), 1, **more)


class Scene:
    """A view of two pools: p, of which devices 1 and 2 are seen, and q with its only device."""

    def __init__(self, *reaches: DeviceReach, **device: Any) -> None:
        given = reaches or (LOCAL, LOCAL, LOCAL)
        first = tuple(
            PublishedDevice(name, {}, {}, at, **device) for at, name in enumerate(("p0", "p1", "p2"))
        )
        self.pools = {
            ("d", "p", 1): Pool("d", "p", first, (LOCAL, *given[:2])),
            ("d", "q", 1): Pool(
                "d", "q", (PublishedDevice("q0", {}, {}, 0, **device),), given[2:] or (LOCAL,)
            ),
        }
        seen = [SeenDevice(first[1], "d", 0, 0, 0), SeenDevice(first[2], "d", 0, 1, 0)]
        seen.append(SeenDevice(self.pools["d", "q", 1].devices[0], "d", 1, 0, 0))
        places = Place(("d", "p", 1), 0b110), Place(("d", "q", 1), 0b1)
        self.view = View(ViewKind(tuple(seen), (0, 0)), places)

    def write(self, claim: ClaimSpec, *picks: Pick) -> dict[str, Any]:
        return write_allocation(claim, picks, self.view, self.pools, "m", "mark")

    def result(self, chosen: Option, device: int = 0, consumption: Any = None) -> dict[str, Any]:
        (found,) = self.write(claim(chosen), Pick(chosen, device, consumption))["devices"]["results"]
        return found


def claim(*options: Option, configurations: Any = ()) -> ClaimSpec:
    """A claim with a request for each option."""
    return ClaimSpec(tuple(Request(each.name, (each,)) for each in options), (), configurations)


class TestResults:
    def test_devices_are_found_by_their_place_in_the_view(self):
        scene = Scene()
        names = [find_device(scene.view, device, scene.pools)[1].name for device in range(3)]
        assert names == ["p1", "p2", "q0"]
        assert find_device(scene.view, 2, scene.pools)[0].name == "q"

    def test_a_plain_result(self):
        assert Scene().result(option(), 1) == {"request": "r", "driver": "d", "pool": "p", "device": "p2"}

    @pytest.mark.parametrize(
        ("chosen", "device", "more"),
        [
            ({"admin": True}, {}, {"adminAccess": True}),
            ({"tolerations_text": '[{"key": "k"}]'}, {}, {"tolerations": [{"key": "k"}]}),
            ({}, {"conditions": ("a", "b")}, {"bindingConditions": ["a", "b"]}),
            ({}, {"failures": ("f",)}, {"bindingFailureConditions": ["f"]}),
        ],
    )
    def test_what_it_may_say_besides(
        self, chosen: dict[str, Any], device: dict[str, Any], more: dict[str, Any]
    ):
        found = Scene(**device).result(option(**chosen))
        assert found == {"request": "r", "driver": "d", "pool": "p", "device": "p1", **more}

    def test_shares_have_ids_of_their_own(self):
        scene, chosen = Scene(), option()
        picks = [Pick(chosen, 0, (("memory", 2048),)), Pick(chosen, 0, ())]
        first, second = scene.write(claim(chosen), *picks)["devices"]["results"]
        assert first["consumedCapacity"] == {"memory": "2Ki"}
        assert "consumedCapacity" not in second
        assert first["shareID"] == derive_share_id("mark/0") != second["shareID"] == derive_share_id("mark/1")
        assert "shareID" not in scene.result(chosen)

    def test_an_id_is_a_uid_and_always_the_same(self):
        assert derive_share_id("x") == derive_share_id("x")
        parts = derive_share_id("x").split("-")
        assert [len(part) for part in parts] == [8, 4, 4, 4, 12]
        assert (parts[2][0], parts[3][0]) == ("4", "a")


class TestConfigurations:
    def write(self, given: ClaimSpec, *picks: Pick) -> list[dict[str, Any]]:
        return Scene().write(given, *picks)["devices"].get("config", [])

    def test_those_of_classes_come_first_each_once_with_the_requests_for_it(self):
        a, b, c = option("a"), option("b", NIC), option("c")
        found = self.write(claim(a, b, c), *(Pick(each, n, None) for n, each in enumerate((a, b, c))))
        assert found == [
            {"source": "FromClass", "requests": ["a", "c"], "opaque": 1},
            {"source": "FromClass", "requests": ["b"], "opaque": 2},
            {"source": "FromClass", "requests": ["b"], "opaque": 3},
        ]

    def test_those_of_the_claim_follow_if_they_are_for_what_was_chosen(self):
        plain = DeviceTerms("plain", ())
        a, b = option("a", plain), option("b/sub", plain)
        given = [
            ((), '{"opaque": 1}'),
            (("a",), '{"opaque": 2}'),
            (("b",), '{"opaque": 3}'),
            (("b/sub",), '{"opaque": 4}'),
            (("c",), '{"opaque": 5}'),
            (("b/other",), '{"opaque": 6}'),
        ]
        found = self.write(claim(a, b, configurations=tuple(given)), Pick(a, 0, None), Pick(b, 1, None))
        assert found == [
            {"source": "FromClaim", "opaque": 1},
            {"source": "FromClaim", "requests": ["a"], "opaque": 2},
            {"source": "FromClaim", "requests": ["b"], "opaque": 3},
            {"source": "FromClaim", "requests": ["b/sub"], "opaque": 4},
        ]

    def test_of_several_options_the_chosen_one_counts_or_the_first_if_none_was_picked(self):
        first, second = option("r/a", GPU), option("r/b", NIC)
        spec = ClaimSpec((Request("r", (first, second)),))
        assert [each["opaque"] for each in self.write(spec, Pick(second, 0, None))] == [2, 3]
        assert [each["opaque"] for each in self.write(spec)] == [1]

    def test_there_may_be_none(self):
        assert "config" not in Scene().write(claim(option(device_class=DeviceTerms("x", ()))))["devices"]


BY_NAME = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}]
}


class TestMachines:
    def select(self, *reaches: DeviceReach, devices: tuple[int, ...] = (0,), **device: Any) -> Any:
        chosen = option()
        picks = [Pick(chosen, each, None) for each in devices]
        return Scene(*reaches, **device).write(claim(chosen), *picks).get("nodeSelector")

    def test_a_local_device_is_for_its_machine(self):
        assert self.select() == BY_NAME
        assert self.select(EVERYWHERE, LOCAL, devices=(0, 1)) == BY_NAME
        assert self.select(EVERYWHERE, binds_to_machine=True) == BY_NAME

    def test_one_that_all_machines_reach_is_for_all(self):
        assert self.select(EVERYWHERE) is None
        assert self.select(devices=()) is None

    def test_others_are_for_machines_with_their_labels_by_the_first_term(self):
        expression = {"key": "k", "operator": "In", "values": ["v"]}
        assert self.select(labelled(("k", "v"), ("other", "x"))) == {
            "nodeSelectorTerms": [{"matchExpressions": [expression]}]
        }

    def test_labels_of_all_devices_are_joined_equal_ones_once(self):
        found = self.select(
            labelled(("k", "v")), labelled(("k", "v")), labelled(("z", "w")), devices=(0, 1, 2)
        )
        (term,) = found["nodeSelectorTerms"]
        assert [(each["key"], each["values"]) for each in term["matchExpressions"]] == [
            ("k", ["v"]),
            ("z", ["w"]),
        ]
        assert "matchFields" not in term
        fields = DeviceReach(terms=(NodeSelectorTerm((), (Requirement("metadata.name", "In", ("n",)),)),))
        (only,) = self.select(fields)["nodeSelectorTerms"]
        assert only == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
