"""Writes to claims of devices as an API server and drivers would make them, at once."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd
from poseidon.offline.device_controllers import apply_report, make_write
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import allocation, claim

REF = PodRef("pod-a", "default", "a")


class State(BridgeState):
    """Notes how writes end, and which claims change."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[WriteEnd] = []
        self.changed: list[object] = []
        self.device_claim_written = lambda end: self.ends.append(end)  # noqa: PLW0108 (named as its caller does)

    def device_claims_changed(self, changes):
        self.changed += [change.object for change in changes]
        super().device_claims_changed(changes)


def test_a_write_gives_the_devices_and_reports_them_ready():
    state = State()
    given = allocation("d0", bindingConditions=["Attached", ""])
    assert make_write(state, DeviceClaimWrite(claim("gpu"), given, (REF,), ()), 0.0) == {}
    [end] = state.ends
    assert end.reason == ""
    assert end.claim is not None
    assert end.claim.status.allocation == given
    assert [each.name for each in end.claim.status.reserved_for] == ["a"]
    [device] = end.claim.status.devices
    assert (device.driver, device.pool, device.device) == ("gpu", "n1", "d0")
    assert [(each.type, each.status) for each in device.conditions] == [("Attached", "True")]
    assert state.changed == [end.claim]


def test_a_write_that_changes_nothing_ends_well():
    state = State()
    made = claim("gpu", given=allocation("d0"), reserved=["a"])
    assert make_write(state, DeviceClaimWrite(made, allocation("d0"), (REF,), ()), 0.0) == {}
    assert [(each.reason, each.claim) for each in state.ends] == [("", made)]
    assert state.changed == []


def test_a_write_that_the_claim_does_not_allow_says_why():
    state = State()
    leaving = claim("gpu", deleting=True)
    assert make_write(state, DeviceClaimWrite(leaving, allocation("d0"), (REF,), ()), 0.0) == {}
    assert [each.reason for each in state.ends] == ['resourceclaim "gpu" is being deleted']
    assert state.changed == []


def patch(*_):
    annotations = {"example.com/gpu": "d0", "example.com/old": None}
    return "/path", {"metadata": {"uid": "pod-a", "annotations": annotations}}


def test_annotations_that_say_the_same_on_the_pod_are_returned():
    write = DeviceClaimWrite(claim("gpu"), allocation("d0"), (REF,), (), instead=patch)
    assert make_write(State(), write, 5.0) == {"pod-a": {"example.com/gpu": "d0"}}
    made = claim("gpu", given=allocation("d0"), reserved=["a"])
    assert make_write(State(), DeviceClaimWrite(made, allocation("d0"), (REF,), (), instead=patch), 5.0) == {}


REPORT = (
    "/path",
    {"metadata": {"uid": "pod-a"}, "status": {"extendedResourceClaimStatus": {"resourceClaimName": "gpu"}}},
)


def test_a_claim_that_comes_into_being_with_its_devices_gets_its_key_as_uid():
    state = State()
    bare = claim("gpu")
    bare = replace(bare, metadata=replace(bare.metadata, uid=""))
    make_write(state, DeviceClaimWrite(bare, allocation("d0"), (REF,), (), report=REPORT), 0.0)
    [end] = state.ends
    assert end.claim is not None
    assert end.claim.metadata.uid == "default/gpu"


def test_the_status_of_the_pod_names_the_claim_that_was_made_for_it():
    pods = {"pod-a": pod("a")}
    apply_report(pods, DeviceClaimWrite(claim("gpu"), None, (REF,), ()))
    apply_report(pods, DeviceClaimWrite(claim("gpu"), None, (), ("pod-a",), report=REPORT))
    before = pods["pod-a"].status.extended_resource_claim_status
    apply_report(pods, DeviceClaimWrite(claim("gpu"), None, (REF,), (), report=REPORT))
    assert before is None
    named = pods["pod-a"].status.extended_resource_claim_status
    assert named is not None
    assert named.resource_claim_name == "gpu"
