"""Single steps of claims of devices: who has them, who waits, and what a placement that fails leaves behind."""

from __future__ import annotations

import pytest

from poseidon.devices.needs import ClaimNeed
from poseidon.devices.options import DeviceOptions
from poseidon.kube.api.devices import AllocatedDeviceStatus
from poseidon.kube.api.metadata import Condition, PodRef
from poseidon.kube.write.device_claim_writer import WriteEnd
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import allocation, claim, pod_of_template, with_claims
from tests.poseidon.devices.test_claims import WEB, Claims, place

LOW = PodRef("pod-low", "default", "low")
TAKEN = "device gpu/n1/d0 is allocated to another claim"


def placed(claims: Claims, name: str, devices: str = "d0", after: tuple[str, ...] = ()) -> str:
    """Have a round give devices to a pod with a claim of its own; return why it cannot have them."""
    claims.put(pod_of_template(name))
    claims.state.move_pod(f"pod-{name}", "n1")
    ref = PodRef(f"pod-{name}", "default", name)
    return claims.state.assume(ref, {"gpu": allocation(devices)}, after)


def test_a_pod_keeps_what_it_needs_when_it_gets_a_node_and_one_that_comes_with_a_node_needs_its_own_alone():
    claims = Claims(claim("shared"))
    found = with_claims(pod("web"), "shared")
    needs = (ClaimNeed("shared", "default/shared"),)
    assert claims.put(found).needs == needs
    assert claims.put(found, place="n1").needs == needs
    assert claims.put(with_claims(pod("late"), "shared"), place="n1").needs == ()


@pytest.mark.parametrize("by_move", [True, False])
def test_records_say_which_pods_with_nodes_use_a_claim(by_move):
    claims = Claims(claim("shared", given=allocation("d0"), reserved=("web",)))
    found = with_claims(pod("web"), "shared")
    claims.put(found)
    assert claims.records()["default/shared"]["in_use_by"] == []
    if by_move:
        claims.state.move_pod("pod-web", "n1")
    else:
        claims.put(found, place="n1")
    assert claims.records()["default/shared"]["in_use_by"] == ["pod-web"]


def test_only_devices_that_are_reserved_for_a_pod_are_its_devices():
    claims = Claims(
        claim("mine", given=allocation("d0"), reserved=("web",)),
        claim("theirs", given=allocation("d1"), reserved=("other",)),
    )
    claims.put(with_claims(pod("web"), "mine", "theirs"))
    found = [(name, device.name) for name, device in claims.state.list_devices("pod-web")]
    assert found == [("mine", "d0")]
    assert list(claims.state.list_devices("pod-unknown")) == []


def test_a_pod_that_goes_while_its_claim_is_written_gives_it_back_afterwards():
    claims = Claims(claim("web-gpu", owner="web"))
    place(claims)
    claims.state.begin("pod-web")
    (write,) = claims.state.take_writes()
    claims.state.remove_pod("pod-web")
    assert claims.records()["default/web-gpu"]["allocation"] == allocation("d0"), "it may have been written"
    after = claim("web-gpu", owner="web", given=allocation("d0"), reserved=("web",), version="2")
    claims.state.note_written(WriteEnd(write, claim=after))
    assert claims.state.take_settled() == {}
    (write,) = claims.state.take_writes()
    assert (write.join, write.leave) == ((), ("pod-web",))


def test_if_one_claim_cannot_have_its_devices_the_others_do_not_keep_theirs():
    claims = Claims(claim("first"), claim("second"))
    claims.put(with_claims(pod("web"), "first", "second"))
    claims.state.move_pod("pod-web", "n1")
    words = 'no devices were chosen for resourceclaim "second"'
    assert claims.state.assume(WEB, {"first": allocation("d0")}) == words
    assert "pod-web" not in claims.state
    assert claims.records()["default/first"]["allocation"] is None


def test_a_claim_that_has_devices_needs_none_from_the_round():
    claims = Claims(claim("shared", given=allocation("d0"), reserved=("other",)))
    claims.put(with_claims(pod("web"), "shared"))
    assert claims.state.assume(WEB, {}) == ""


def test_a_pod_without_claims_is_settled_at_once():
    claims = Claims()
    claims.state.put_pod("pod-web", "default/web", (), "n1")
    assert claims.state.assume(WEB, {}) == ""
    claims.state.begin("pod-web")
    assert claims.state.take_settled() == {"pod-web": ""}


def test_two_pods_of_one_round_do_not_get_one_device():
    claims = Claims(claim("web-gpu", owner="web"), claim("low-gpu", owner="low"))
    assert placed(claims, "low") == ""
    assert placed(claims, "web") == TAKEN
    assert placed(claims, "web", "d1") == ""


def test_devices_of_pods_that_leave_may_be_promised_as_soon_as_somebody_has_them():
    claims = Claims(claim("web-gpu", owner="web"), claim("low-gpu", owner="low"))
    placed(claims, "low")
    claims.state.begin("pod-low")
    assert placed(claims, "web", after=("pod-other",)) == TAKEN
    assert placed(claims, "web", after=("pod-low",)) == "", "its claim is being written for it"
    claims.state.begin("pod-web")
    assert [each.join for each in claims.state.take_writes()] == [(LOW,)], "only once the device is free"


def test_devices_that_nobody_uses_are_not_those_of_pods_that_leave():
    claims = Claims(claim("web-gpu", owner="web"), claim("left", given=allocation("d0")))
    assert placed(claims, "web", after=("pod-low",)) == TAKEN


def test_a_claim_that_is_held_back_is_written_when_it_is_looked_at_again():
    claims, held = Claims(claim("web-gpu", owner="web")), [True]
    claims.state.holds_back = lambda key, devices: (
        (key, devices, held[0])
        == (
            "default/web-gpu",
            allocation("d0"),
            True,
        )
    )
    place(claims)
    claims.state.begin("pod-web")
    claims.state.expire()
    assert claims.state.take_writes() == []
    held[0] = False
    claims.state.expire()
    assert [each.join for each in claims.state.take_writes()] == [(WEB,)]


def test_a_pod_with_a_node_is_not_read_anew():
    claims = Claims(claim("web-gpu", owner="web"))
    place(claims)
    claims.show(claim("web-gpu", owner="web", given=allocation("d1"), version="2"))
    assert list(claims.state.take_affected()) == []


def test_what_a_pod_lacks_is_said_before_what_is_under_way():
    claims = Claims(claim("shared", given=allocation("d0")))
    claims.put(with_claims(pod("a"), "shared"))
    claims.state.note_unplaced("pod-a")
    waits = claims.put(with_claims(pod("b"), "shared", "missing")).waits
    assert waits == 'resourceclaim "missing" not found'


def test_a_placement_that_took_too_long_is_over_whatever_drivers_say_later():
    given = allocation("d0", bindingConditions=["Ready"], bindingFailureConditions=["Broken"])
    claims = Claims(claim("web-gpu", owner="web"))
    claims.put(pod_of_template("web"))
    claims.state.move_pod("pod-web", "n1")
    claims.state.assume(WEB, {"gpu": given})
    claims.state.begin("pod-web")
    fields = {"owner": "web", "given": given, "reserved": ("web",)}
    claims.show(claim("web-gpu", **fields))
    claims.state.take_settled()
    claims.now = DeviceOptions().bind_timeout
    claims.state.expire()
    assert claims.state.take_settled() == {"pod-web": "device binding timeout"}
    ready = Condition(type="Ready", status="True")
    claims.show(
        claim("web-gpu", said=(AllocatedDeviceStatus("gpu", "n1", "d0", conditions=(ready,)),), **fields)
    )
    assert claims.state.take_settled() == {}


def test_an_outcome_that_nobody_has_taken_is_forgotten_with_the_placement():
    claims = Claims(claim("web-gpu", owner="web"))
    place(claims)
    claims.state.begin("pod-web")
    claims.now = DeviceOptions().bind_timeout
    claims.state.expire()
    claims.state.move_pod("pod-web", "")
    assert claims.state.take_settled() == {}


def test_devices_stay_while_one_of_their_pods_is_being_placed():
    claims = Claims(claim("shared", given=allocation("d0"), reserved=("a", "low")))
    claims.put(with_claims(pod("a"), "shared"))
    claims.put(with_claims(pod("low"), "shared"))
    claims.state.assume(LOW, {})
    assert not claims.state.note_unplaced("pod-a")
