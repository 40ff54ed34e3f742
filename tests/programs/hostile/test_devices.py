"""Hostile slices, classes and claims, and pods that name them: decent pods get their devices all the same, and soon."""

from __future__ import annotations

import json
import time
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import MalformedObjectError, convert_object, decode_object
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import Toleration
from poseidon.kube.api.pods import PodResourceClaim
from poseidon.kube.api.resource import Change
from tests.poseidon.bridge.objects import node, pod, present
from tests.programs.hostile import device_specs
from tests.programs.hostile.objects import COMMONS, Mallory
from tests.support.device_objects import device_claim, device_class
from tests.support.devices import device, slice_spec
from tests.support.effort import examples
from tests.support.time_limits import measure_slowness

DRAWN = 80
HOSTILE = (kinds.DEVICE_CLASS, kinds.RESOURCE_SLICE, kinds.RESOURCE_CLAIM)
DECENT = "gpu.example.com"


class Scene:
    """A bridge and a solver, and a node with two devices that only decent pods tolerate."""

    def __init__(self) -> None:
        self.state = BridgeState(BridgeConfiguration())
        self.scheduler = EmbeddedScheduler(load_configuration(None), lambda: 1_767_268_800.0)
        good = node("good")
        good = replace(good, spec=replace(good.spec, taints=(Taint("decent", "", "NoSchedule"),)))
        self.state.nodes_changed([present(good), *(present(node(name, cpu="64")) for name in COMMONS)])
        devices = {"spec": slice_spec("good", [device("d0"), device("d1")])}
        self._bring(kinds.RESOURCE_SLICE, "decent", {"metadata": {"name": "decent"}, **devices})
        self._bring(kinds.DEVICE_CLASS, "decent", device_class("decent", f'device.driver == "{DECENT}"'))
        self.seconds = 0.0
        self._run()  # modules that rounds need are imported
        self.seconds = 0.0

    def _bring(self, kind: Any, uid: str, found: dict[str, Any]) -> None:
        self.state.handlers[kind]([Change(uid, convert_object(found, kind.struct))])

    def draw(self, mallory: Mallory, random: Random) -> None:
        """Have hostile objects come, change and go, with rounds in between."""
        for index in range(DRAWN):
            kind = random.choice((*HOSTILE, kinds.POD))
            name = f"mallory-{random.randint(0, 9)}"
            raw = mallory.raw(kind.struct, name, f"{kind.name}-{name}")[1]
            try:
                found = decode_object(raw, kind.struct)
            except MalformedObjectError:
                continue
            gone = random.random() < 0.1
            if kind is kinds.POD:
                self.state.pods_changed([self._claiming(f"p{index}", random)])
            else:
                self.state.handlers[kind]([Change(f"{kind.name}-{name}", None if gone else found)])
            if random.random() < 0.1:
                self._run()

    def _claiming(self, name: str, random: Random) -> Change[Any]:
        found = pod(name, namespace="mallory")
        named = tuple(
            PodResourceClaim(f"c{at}", f"mallory-{random.randint(0, 9)}")
            for at in range(random.choice((1, 1, 2)))
        )
        return present(replace(found, spec=replace(found.spec, resource_claims=named)))

    def place(self) -> dict[str, list[str]]:
        """Add decent pods, run a round, and return the devices of those that are placed, by pod."""
        changes = []
        for name in ("one", "two"):
            claim = device_claim(name)
            claim["metadata"] |= {"namespace": "decent", "uid": f"claim-{name}", "resourceVersion": "1"}
            claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "decent"
            self._bring(kinds.RESOURCE_CLAIM, f"claim-{name}", claim)
            found = pod(name, namespace="decent", priority=2**31 - 1)
            named, tolerated = (PodResourceClaim("device", name),), (Toleration("decent", "Exists"),)
            spec = replace(found.spec, resource_claims=named, tolerations=tolerated)
            changes.append(present(replace(found, spec=spec)))
        self.state.pods_changed([*changes, present(pod("none", namespace="decent", priority=2**31 - 1))])
        return self._run()

    def _run(self) -> dict[str, list[str]]:
        events = self.state.take_events()
        assert self.scheduler.list_refused(events) == []
        self.scheduler.apply(events)
        self.state.expire()
        self.state.take_actions()
        begun = time.process_time()
        result = self.scheduler.run_round()
        self.seconds = max(self.seconds, time.process_time() - begun)
        return {
            each.task: [
                device["device"]
                for allocated in each.allocations
                for device in json.loads(allocated.allocation)["devices"]["results"]
            ]
            for each in result.deltas
        }


@pytest.mark.parametrize("seed", range(examples(40, 3, slow=True)))
def test_hostile_devices_hold_up_nobody(seed):
    random = Random(seed)
    scene = Scene()
    scene.draw(Mallory(random), random)
    found = scene.place()
    assert {*found["pod-one"], *found["pod-two"]} == {"d0", "d1"}
    assert found["pod-none"] == []
    assert [*scene.state.quarantine] == []
    assert scene.seconds < 10.0 * max(1.0, measure_slowness())


def test_a_claim_of_a_thousand_costly_expressions_holds_up_nobody():
    scene = Scene()
    random = Random(1)
    devices = [device(f"d{number}", attributes={"numa": number}) for number in range(8)]
    for name in COMMONS:
        spec = {**slice_spec(name, devices), "driver": device_specs.DRIVER}
        scene._bring(kinds.RESOURCE_SLICE, name, {"metadata": {"name": name}, "spec": spec})
    scene._bring(kinds.DEVICE_CLASS, "all", {"metadata": {"name": device_specs.CLASSES[0]}, "spec": {}})
    heavy = [device_specs.draw_heavy_request(random, index) for index in range(device_specs.MOST_EXPRESSIONS)]
    spec = {"devices": {"requests": heavy}}
    metadata = {"name": "mallory-0", "namespace": "mallory", "uid": "heavy"}
    scene._bring(kinds.RESOURCE_CLAIM, "heavy", {"metadata": metadata, "spec": spec})
    found = pod("heavy", namespace="mallory")
    named = (PodResourceClaim("c", "mallory-0"),)
    scene.state.pods_changed([present(replace(found, spec=replace(found.spec, resource_claims=named)))])
    assert set(scene.place()) >= {"pod-one", "pod-two", "pod-none"}
    assert scene.seconds < 10.0 * max(1.0, measure_slowness())
