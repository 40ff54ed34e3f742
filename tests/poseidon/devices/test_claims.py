"""What claims of devices mean for their pods: what a class says, what a pod waits for, what is written."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from poseidon.devices.claims import NO_CLAIMS, DeviceClaim, device_claims_of
from poseidon.devices.needs import ClaimNeed
from poseidon.devices.options import DeviceOptions
from poseidon.devices.state import DeviceState
from poseidon.kube.api.devices import AllocatedDeviceStatus
from poseidon.kube.api.metadata import Condition, OwnerReference, PodRef
from poseidon.kube.api.pods import SchedulingGroup
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import (
    DeviceClaimWrite,
    RefusedWriteError,
    WriteEnd,
    build_status,
)
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import SPEC, allocation, claim, pod_of_template, with_claims

SPEC_TEXT = json.dumps(SPEC, sort_keys=True, separators=(",", ":"))
WEB = PodRef("pod-web", "default", "web")


class Claims:
    """The state of all claims, with a clock that stands still."""

    def __init__(self, *claims):
        self.now = 0.0
        self.state = DeviceState(DeviceOptions(), lambda: self.now, lambda: 1_767_225_600.0)
        self.show(*claims)

    def show(self, *claims):
        self.state.claims_changed([Change(each.metadata.uid, each) for each in claims])

    def put(self, found, place=""):
        metadata = found.metadata
        name = f"{metadata.namespace}/{metadata.name}"
        return self.state.put_pod(metadata.uid, name, device_claims_of(found), place)

    def records(self):
        return {key: payload and json.loads(payload) for key, payload in self.state.take_records()}


def test_pods_of_a_template_need_the_same_whatever_their_claims_are_called():
    claims = Claims(claim("a-gpu", owner="a"), claim("b-gpu", owner="b"))
    found = {claims.put(pod_of_template(name)) for name in "ab"}
    assert found == {((ClaimNeed("gpu", "", SPEC_TEXT),), "")}


def test_a_claim_that_others_may_share_or_that_has_devices_is_named():
    claims = Claims(claim("shared"), claim("web-gpu", owner="web", given=allocation("d0"), reserved=("web",)))
    found = claims.put(with_claims(pod("web"), "shared", made=[("own", "web-gpu"), ("none", "")]))
    assert found.waits == 'pod "default/web": ResourceClaim not created yet'
    found = claims.put(with_claims(pod("web"), "shared", made=[("own", "web-gpu")]))
    assert found.needs == (ClaimNeed("shared", "default/shared"), ClaimNeed("own", "default/web-gpu"))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, 'resourceclaim "web-gpu" not found'),
        (claim("web-gpu", owner="web", deleting=True), 'resourceclaim "web-gpu" is being deleted'),
        (
            claim("web-gpu", owner="other"),
            "ResourceClaim default/web-gpu was not created for Pod default/web (Pod is not owner)",
        ),
        (
            claim("web-gpu", owner="web", given=allocation("d0"), reserved=map(str, range(256))),
            "resourceclaim in use",
        ),
    ],
)
def test_a_pod_waits_for_its_claims_in_the_words_of_kube_scheduler(found, words):
    claims = Claims(*([found] if found else []))
    assert claims.put(pod_of_template("web")).waits == words


def of_group(found, group):
    owner = OwnerReference("scheduling.k8s.io/v1alpha2", "PodGroup", group, "group", controller=True)
    return replace(found, metadata=replace(found.metadata, owner_references=(owner,)))


def test_pods_of_a_group_share_what_was_made_for_the_group_and_others_do_not():
    claims = Claims(of_group(claim("gang-gpu"), "gang"))
    member = with_claims(pod("a"), made=[("gpu", "gang-gpu")])
    for group, needs in [("gang", (ClaimNeed("gpu", "default/gang-gpu"),)), ("other", ())]:
        spec = replace(member.spec, scheduling_group=SchedulingGroup(group))
        found = claims.put(replace(member, spec=spec))
        assert found.needs == needs
        assert ("Pod is not owner" in found.waits) is not bool(needs)


@pytest.mark.parametrize(
    ("version", "kind", "name", "shared"),
    [
        ("scheduling.k8s.io/v1alpha2", "PodGroup", "g", True),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", "other", False),
        ("scheduling.k8s.io/v1alpha2", "Workload", "g", False),
        ("example.com/v1", "PodGroup", "g", False),
    ],
)
def test_a_group_has_the_claims_that_a_group_of_its_name_owns(version, kind, name, shared):
    found = claim("c")
    owner = OwnerReference(version, kind, name, controller=True)
    found = replace(found, metadata=replace(found.metadata, owner_references=(owner,)))
    assert DeviceClaim("default/c", found, "", "", ()).is_for_group("g") is shared
    assert not DeviceClaim("default/c", found, "", "", ()).is_for_group("")
    assert not DeviceClaim("default/c", claim("c"), "", "", ()).is_for_group("g"), "nobody owns it"


def test_a_pod_that_names_a_claim_twice_goes_like_any_other():
    claims = Claims(claim("shared"))
    twice = with_claims(pod("web"), "shared", "shared")
    claims.put(twice)
    claims.state.remove_pod(twice.metadata.uid)
    assert claims.put(with_claims(pod("web"), "shared")).needs == (ClaimNeed("shared", "default/shared"),)


def test_a_pod_is_told_when_its_claim_comes():
    claims = Claims()
    assert claims.put(pod_of_template("web")).waits
    claims.show(claim("web-gpu", owner="web"))
    assert [(uid, found.waits) for uid, found in claims.state.take_affected()] == [("pod-web", "")]


def test_a_claim_that_nobody_uses_and_that_has_nothing_is_no_record():
    claims = Claims(claim("idle"), claim("used", given=allocation("d0"), reserved=("elsewhere",)))
    assert claims.records() == {
        "default/idle": None,
        "default/used": {
            "spec": SPEC,
            "allocation": allocation("d0"),
            "reserved_for": ["pod-elsewhere"],
            "in_use_by": [],
        },
    }


def place(claims, devices="d0", name="gpu"):
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    return claims.state.assume(WEB, {name: allocation(devices)})


def test_devices_of_a_placement_are_told_before_they_are_written():
    claims = Claims(claim("web-gpu", owner="web"))
    assert place(claims) == ""
    assert claims.records()["default/web-gpu"] == {
        "spec": SPEC,
        "allocation": allocation("d0"),
        "reserved_for": ["pod-web"],
        "in_use_by": ["pod-web"],
    }
    claims.state.begin("pod-web")
    claims.records()
    (write,) = claims.state.take_writes()
    assert write.join == (WEB,)
    assert write.allocation == allocation("d0")
    after = claim("web-gpu", owner="web", given=allocation("d0"), reserved=("web",), version="2")
    claims.state.note_written(WriteEnd(write, claim=after))
    assert claims.state.take_settled() == {"pod-web": ""}
    claims.show(claim("web-gpu", owner="web"))  # the watch lags behind
    assert claims.records()["default/web-gpu"]["allocation"] == allocation("d0")
    assert not claims.state.take_writes()


def test_a_placement_that_is_given_up_before_it_is_written_leaves_nothing():
    claims = Claims(claim("web-gpu", owner="web"))
    place(claims)
    claims.state.move_pod("pod-web", "")
    assert claims.records()["default/web-gpu"]["allocation"] is None
    assert not claims.state.take_writes()


def test_devices_that_may_have_been_written_stay_taken_until_they_are_seen_to_be_free():
    claims = Claims(claim("web-gpu", owner="web"))
    place(claims)
    claims.state.begin("pod-web")
    (write,) = claims.state.take_writes()
    claims.state.note_written(WriteEnd(write, "no answer", unsure=True))
    assert claims.state.take_settled() == {"pod-web": "no answer"}
    claims.state.move_pod("pod-web", "")
    assert claims.records()["default/web-gpu"]["allocation"] == allocation("d0")
    claims.now = 6.0
    claims.state.expire()
    (write,) = claims.state.take_writes()
    assert write.read_first
    assert write.leave == ("pod-web",)
    claims.state.note_written(WriteEnd(write, claim=claim("web-gpu", owner="web")))
    assert claims.records()["default/web-gpu"]["allocation"] is None


def test_no_device_is_given_to_two_claims_whatever_the_solver_says():
    held = claim("other", given=allocation("d0"), reserved=("other",))
    claims = Claims(claim("web-gpu", owner="web"), held)
    assert place(claims) == "device gpu/n1/d0 is allocated to another claim"
    assert claims.records()["default/web-gpu"]["allocation"] is None


def test_a_placement_without_devices_is_refused():
    claims = Claims(claim("web-gpu", owner="web"))
    assert place(claims, name="another") == 'no devices were chosen for resourceclaim "web-gpu"'


def test_what_a_pod_waits_for_is_known_until_it_is_gone():
    claims = Claims()
    claims.put(pod_of_template("web"))
    assert claims.state.resolution("pod-web").waits == 'resourceclaim "web-gpu" not found'
    assert claims.state.resolution("pod-other") == NO_CLAIMS
    claims.state.remove_pod("pod-web")
    assert claims.state.resolution("pod-web") == NO_CLAIMS


def test_a_placement_whose_claim_is_gone_is_refused():
    claims = Claims(claim("web-gpu", owner="web"))
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    claims.state.claims_changed([Change("claim-web-gpu", None)])
    assert claims.state.assume(WEB, {"gpu": allocation("d0")}) == 'resourceclaim "web-gpu" not found'


def test_claims_that_are_not_written_in_time_end_a_placement():
    claims = Claims(claim("web-gpu", owner="web"))
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    claims.state.assume(WEB, {"gpu": allocation("d0")})
    claims.state.begin("pod-web")
    claims.now = DeviceOptions().bind_timeout
    claims.state.expire()
    assert claims.state.take_settled() == {"pod-web": "claims were not written in time"}
    claims.now *= 3
    claims.state.expire()
    assert claims.state.take_settled() == {}, "that has been said"


def test_a_pod_waits_for_what_drivers_say_of_its_devices():
    waits = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    claims = Claims(claim("web-gpu", owner="web"))
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    given = allocation("d0", **waits)
    assert claims.state.assume(WEB, {"gpu": given}) == ""
    claims.state.begin("pod-web")
    (write,) = claims.state.take_writes()
    assert write.allocation == {**given, "allocationTimestamp": "2026-01-01T00:00:00Z"}
    fields = {"owner": "web", "given": given, "reserved": ("web",)}
    claims.show(claim("web-gpu", **fields))
    assert claims.state.take_settled() == {}

    def say(kind):
        condition = Condition(type=kind, status="True")
        return (AllocatedDeviceStatus("gpu", "n1", "d0", conditions=(condition,)),)

    claims.show(claim("web-gpu", said=say("Ready"), **fields))
    assert claims.state.take_settled() == {"pod-web": ""}


def test_a_device_that_fails_or_takes_too_long_is_given_back():
    waits = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    given = allocation("d0", **waits)
    broken = (
        AllocatedDeviceStatus("gpu", "n1", "d0", conditions=(Condition(type="Broken", status="True"),)),
    )
    for said, later, words in (
        (broken, 0.0, 'resourceclaim "web-gpu": device gpu/n1/d0: Broken'),
        ((), 700.0, "device binding timeout"),
    ):
        claims = Claims(claim("web-gpu", owner="web"))
        claims.put(pod_of_template("web"))
        claims.state.move_pod("pod-web", "n1")
        claims.state.assume(WEB, {"gpu": given})
        claims.state.begin("pod-web")
        (write,) = claims.state.take_writes()
        after = claim("web-gpu", owner="web", given=given, reserved=("web",), version="2", said=said)
        claims.state.note_written(WriteEnd(write, claim=after))
        assert claims.state.take_settled() == ({"pod-web": words} if not later else {})
        claims.now = later
        claims.state.expire()
        assert claims.state.take_settled() == ({"pod-web": words} if later else {})
        claims.state.move_pod("pod-web", "")
        assert [each.leave for each in claims.state.take_writes()] == [("pod-web",)]


def test_a_pod_without_a_node_gives_back_devices_that_only_it_has():
    mine = claim("web-gpu", owner="web", given=allocation("d0"), reserved=("web",))
    claims = Claims(mine, claim("shared", given=allocation("d1"), reserved=("web", "other")))
    claims.put(with_claims(pod("web"), "shared", made=[("own", "web-gpu")]))
    assert claims.state.note_unplaced("pod-web")
    assert [(each.key, each.leave) for each in claims.state.take_writes()] == [
        ("default/web-gpu", ("pod-web",))
    ]


def test_pods_that_share_devices_and_all_find_no_node_give_them_back():
    claims = Claims(claim("shared", given=allocation("d0"), reserved=("a", "b")))
    claims.put(with_claims(pod("a"), "shared"))
    assert not claims.state.note_unplaced("pod-a"), "who the other is is not known yet"
    claims.put(with_claims(pod("b"), "shared"))
    assert claims.state.note_unplaced("pod-a")
    [write] = claims.state.take_writes()
    assert write.leave == ("pod-a",)
    left = claim("shared", given=allocation("d0"), reserved=("b",), version="2")
    claims.state.note_written(WriteEnd(write, claim=left))
    assert claims.state.note_unplaced("pod-b")
    [write] = claims.state.take_writes()
    assert build_status(left, write) == {"allocation": None, "reservedFor": None}


def test_devices_stay_with_a_placed_pod_that_shares_them():
    claims = Claims(claim("shared", given=allocation("d0"), reserved=("a", "b")))
    claims.put(with_claims(pod("a"), "shared"))
    claims.put(with_claims(pod("b"), "shared"), place="n1")
    assert not claims.state.note_unplaced("pod-a")
    assert claims.state.take_writes() == []


def test_devices_of_a_claim_that_is_reserved_for_nobody_are_given_back_if_its_pods_find_no_node():
    left_over = claim("shared", given=allocation("d0"))
    claims = Claims(left_over)
    claims.put(with_claims(pod("a"), "shared"))
    claims.put(with_claims(pod("b"), "shared"), place="n1")
    assert not claims.state.note_unplaced("pod-a"), "the other is about to use it"
    claims.state.move_pod("pod-b", "")
    assert claims.state.note_unplaced("pod-a")
    assert "being deallocated" in claims.put(with_claims(pod("a"), "shared")).waits
    [write] = claims.state.take_writes()
    assert build_status(left_over, write) == {"allocation": None, "reservedFor": None}
    assert claims.state.note_unplaced("pod-a")
    assert claims.state.take_writes() == [], "it is under way"
    claims.state.note_written(WriteEnd(write, claim=claim("shared", version="2")))
    assert claims.put(with_claims(pod("a"), "shared")).waits == ""
    assert not claims.state.note_unplaced("pod-a")


def test_pods_wait_from_when_devices_are_given_back_until_they_are_free():
    claims = Claims(claim("shared", given=allocation("d0")))
    claims.put(with_claims(pod("a"), "shared"))
    list(claims.state.take_affected())
    claims.state.note_unplaced("pod-a")
    assert [(uid, each.waits) for uid, each in claims.state.take_affected()] == [
        ("pod-a", 'resourceclaim "shared" is being deallocated')
    ]
    [write] = claims.state.take_writes()
    claims.state.note_written(WriteEnd(write, claim=claim("shared", version="2")))
    assert [(uid, each.waits) for uid, each in claims.state.take_affected()] == [("pod-a", "")]


def test_devices_are_not_taken_from_whoever_has_come_meanwhile():
    claims = Claims(claim("shared", given=allocation("d0")))
    claims.put(with_claims(pod("a"), "shared"))
    claims.state.note_unplaced("pod-a")
    [write] = claims.state.take_writes()
    taken = claim("shared", given=allocation("d0"), reserved=("other",), version="2")
    assert build_status(taken, write) is None
    claims.state.note_written(WriteEnd(write, claim=taken))
    assert claims.state.take_writes() == []
    assert claims.put(with_claims(pod("a"), "shared")).waits == ""


def test_devices_that_could_not_be_given_back_are_given_back_later():
    claims = Claims(claim("shared", given=allocation("d0")))
    claims.put(with_claims(pod("a"), "shared"))
    claims.state.note_unplaced("pod-a")
    [write] = claims.state.take_writes()
    claims.state.note_written(WriteEnd(write, "no answer", unsure=True))
    assert claims.state.take_writes() == []
    claims.now += 6.0
    claims.state.expire()
    [write] = claims.state.take_writes()
    assert write.read_first


def write(found, *, given=None, join=(), leave=()):
    return DeviceClaimWrite(
        found, given, tuple(PodRef(f"pod-{name}", "default", name) for name in join), leave
    )


def test_what_is_written_keeps_others_and_frees_devices_with_the_last():
    consumer = {"resource": "pods", "name": "a", "uid": "pod-a"}
    free, taken = claim("c"), claim("c", given=allocation("d0"), reserved=("a", "b"))
    assert build_status(free, write(free, given=allocation("d0"), join=["a"])) == {
        "allocation": allocation("d0"),
        "reservedFor": [consumer],
    }
    assert build_status(taken, write(taken, join=["a"])) is None
    assert build_status(taken, write(taken, leave=("pod-b",))) == {"reservedFor": [consumer]}
    assert build_status(taken, write(taken, leave=("pod-a", "pod-b"))) == {
        "allocation": None,
        "reservedFor": None,
    }


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (claim("c", uid="another"), 'resourceclaim "c" not found'),
        (claim("c", deleting=True), 'resourceclaim "c" is being deleted'),
        (claim("c", given=allocation("d1")), 'resourceclaim "c" has got other devices meanwhile'),
        (claim("c", given=allocation("d0"), reserved=map(str, range(256))), "resourceclaim in use"),
    ],
)
def test_a_claim_that_has_changed_refuses_the_write(found, words):
    with pytest.raises(RefusedWriteError, match=words):
        build_status(found, write(claim("c"), given=allocation("d0"), join=["a"]))


def test_devices_of_a_pod_that_goes_are_another_pods_once_its_claim_has_none():
    low = claim("low-gpu", owner="low", given=allocation("d0"), reserved=("low",))
    claims = Claims(claim("web-gpu", owner="web"), low)
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    assert claims.state.assume(WEB, {"gpu": allocation("d0")}) != ""
    assert claims.state.assume(WEB, {"gpu": allocation("d0")}, ["pod-low"]) == ""
    claims.state.begin("pod-web")
    assert claims.state.take_writes() == []
    claims.show(claim("low-gpu", owner="low"))
    (write,) = claims.state.take_writes()
    assert write.key == "default/web-gpu"


def test_devices_of_a_claim_that_somebody_keeps_are_nobody_elses():
    low = claim("low-gpu", given=allocation("d0"), reserved=("low", "stays"))
    claims = Claims(claim("web-gpu", owner="web"), low)
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    assert "is allocated to another claim" in claims.state.assume(WEB, {"gpu": allocation("d0")}, ["pod-low"])


def test_devices_that_are_not_given_back_in_time_end_a_placement():
    low = claim("low-gpu", owner="low", given=allocation("d0"), reserved=("low",))
    claims = Claims(claim("web-gpu", owner="web"), low)
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    assert claims.state.assume(WEB, {"gpu": allocation("d0")}, ["pod-low"]) == ""
    claims.state.begin("pod-web")
    claims.now = 601.0
    claims.state.expire()
    assert claims.state.take_settled() == {"pod-web": "claims were not written in time"}
    claims.state.move_pod("pod-web", "")
    claims.show(claim("low-gpu", owner="low"))
    assert claims.state.take_writes() == []
