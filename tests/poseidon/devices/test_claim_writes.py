"""What is written to a claim next, from what the API server shows and from who joins and leaves."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.devices.claim_writes import LOOK_AGAIN_SECONDS, ClaimProgress, ClaimWrites
from poseidon.devices.claims import DeviceClaim, read_claim
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd
from tests.poseidon.devices.objects import allocation, claim

KEY = "default/c"
ONE, TWO = PodRef("pod-1", "default", "1"), PodRef("pod-2", "default", "2")
GIVEN = allocation("d0")


class Scene:
    def __init__(self, **status: Any) -> None:
        self.claims: dict[str, DeviceClaim] = {}
        self.show(**status)
        self.writes = ClaimWrites(self.claims.get, lambda key: (f"/report/{key}", {}))

    def show(self, **status: Any) -> None:
        self.claims[KEY] = read_claim(claim("c", **status))

    def ask(self, pod: PodRef = ONE, now: float = 0.0) -> DeviceClaimWrite | None:
        """Count on the device for a pod, and return the write that this comes to."""
        self.writes.count_on(KEY, pod.uid, GIVEN)
        self.writes.reserve(KEY, pod, now)
        return self.next()

    def next(self) -> DeviceClaimWrite | None:
        found = self.writes.take_writes()
        assert len(found) < 2
        return found[0] if found else None

    def ended(self) -> list[tuple[str, str, str]]:
        return list(self.writes.take_ended())

    @property
    def progress(self) -> ClaimProgress:
        found = self.writes.get(KEY)
        assert found is not None
        return found


def test_the_first_write_gives_the_devices_and_reserves_the_claim():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    assert (write.allocation, write.join, write.leave, write.report) == (
        GIVEN,
        (ONE,),
        (),
        (f"/report/{KEY}", {}),
    )
    assert not scene.writes.has_news
    assert scene.ended() == []


def test_there_is_one_write_at_a_time_and_the_next_has_all_who_wait():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    assert scene.ask(TWO) is None
    scene.show(given=GIVEN, reserved=("1",))
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.ended() == [("pod-1", KEY, "")]
    following = scene.next()
    assert following is not None
    assert following.join == (TWO,)


def test_a_pod_has_its_claim_when_the_server_shows_it():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.advance(KEY, 0.0)
    assert scene.ended() == []
    scene.show(given=GIVEN, reserved=("1",))
    scene.writes.advance(KEY, 0.0)
    assert scene.writes.has_news
    assert scene.ended() == [("pod-1", KEY, "")]
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.ended() == []
    assert scene.writes.get(KEY) is None


def test_other_devices_than_were_meant_are_a_failure():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.show(given=allocation("d1"), reserved=("1",))
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.ended() == [("pod-1", KEY, 'resourceclaim "c" has got other devices')]


def test_a_refused_write_ends_for_all_who_joined_and_is_not_made_again():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.note_ended(WriteEnd(write, "forbidden"), 5.0)
    assert scene.ended() == [("pod-1", KEY, "forbidden")]
    assert scene.writes.get(KEY) is None
    assert scene.writes.expire(100.0) == []


def test_without_an_answer_the_pod_leaves_and_the_claim_is_looked_at_later():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.note_ended(WriteEnd(write, "no answer", unsure=True), 5.0)
    assert scene.ended() == [("pod-1", KEY, "no answer")]
    assert scene.progress.is_unknown_to("pod-9")
    assert scene.progress.allocation == GIVEN
    assert scene.writes.expire(5.0 + LOOK_AGAIN_SECONDS - 0.5) == []
    assert scene.next() is None
    assert scene.writes.expire(5.0 + LOOK_AGAIN_SECONDS) == [KEY]
    again = scene.next()
    assert again is not None
    assert (again.join, again.leave, again.read_first) == ((), ("pod-1",), True)
    scene.writes.note_ended(WriteEnd(again), 20.0)
    assert scene.writes.get(KEY) is None
    assert scene.writes.expire(100.0) == []


def test_whoever_joins_after_a_failure_does_not_wait_for_the_next_look():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.note_ended(WriteEnd(write, "no answer", unsure=True), 5.0)
    scene.ended()
    following = scene.ask(TWO, 6.0)
    assert following is not None
    assert (following.join, following.leave) == ((TWO,), ("pod-1",))


def test_ends_of_other_writes_are_ignored():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.note_ended(WriteEnd(write._replace(join=())), 0.0)
    assert scene.progress.writing is write
    stranger = write._replace(claim=claim("other"))
    scene.writes.note_ended(WriteEnd(stranger, "forbidden"), 0.0)
    assert scene.ended() == []


@pytest.mark.parametrize("reserved", [True, False])
def test_a_pod_that_gives_back_leaves_if_the_claim_may_be_reserved_for_it(reserved):
    scene = Scene(given=GIVEN, reserved=("1",) if reserved else ())
    scene.writes.give_back(KEY, "pod-1", 0.0)
    write = scene.next()
    assert (write is not None) is reserved
    if write is not None:
        assert (write.join, write.leave) == ((), ("pod-1",))
        scene.show(given=None)
        scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.writes.get(KEY) is None


def test_a_pod_that_gives_back_during_its_write_leaves_afterwards():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.give_back(KEY, "pod-1", 0.0)
    assert scene.next() is None
    assert scene.progress.allocation == GIVEN, "its devices stay booked"
    scene.show(given=GIVEN, reserved=("1",))
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.ended() == []
    following = scene.next()
    assert following is not None
    assert (following.join, following.leave) == ((), ("pod-1",))


def test_a_pod_that_comes_back_does_not_leave():
    scene = Scene(given=GIVEN, reserved=("1",))
    scene.writes.give_back(KEY, "pod-1", 0.0)
    assert scene.progress.is_unknown_to("pod-1")
    assert not scene.progress.is_unknown_to("pod-2")
    scene.writes.reserve(KEY, ONE, 0.0)
    assert not scene.progress.is_unknown_to("pod-1")


def test_a_claim_that_is_reserved_for_nobody_gives_its_devices_back():
    scene = Scene(given=GIVEN)
    scene.writes.free(KEY, 0.0)
    write = scene.next()
    assert write is not None
    assert (write.join, write.leave, write.allocation) == ((), (), None)
    assert scene.progress.is_unknown_to("pod-1")
    scene.show()
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.writes.get(KEY) is None


def test_a_claim_that_somebody_joins_is_not_freed():
    scene = Scene(given=GIVEN)
    scene.ask()
    scene.writes.free(KEY, 0.0)
    assert not scene.progress.freeing
    for status in ({}, {"given": GIVEN, "reserved": ("1",)}):
        other = Scene(**status)
        other.writes.free(KEY, 0.0)
        assert other.next() is None
        assert other.writes.get(KEY) is None


@pytest.mark.parametrize(
    ("gone", "reason"),
    [(True, 'resourceclaim "c" not found'), (False, 'resourceclaim "c" is being deleted')],
)
def test_a_claim_that_goes_ends_for_all_who_join(gone, reason):
    scene = Scene()
    scene.ask()
    scene.ask(TWO)
    if gone:
        del scene.claims[KEY]
    else:
        scene.show(deleting=True)
    scene.writes.advance(KEY, 0.0)
    assert scene.ended() == [("pod-1", KEY, reason), ("pod-2", KEY, reason)]


def test_pods_that_are_forgotten_are_not_waited_for():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.writes.forget(KEY, "pod-1")
    scene.writes.forget("default/unknown", "pod-1")
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.ended() == []
    assert scene.writes.get(KEY) is None
    scene.writes.advance("default/unknown", 0.0)
    assert scene.writes.get("default/unknown") is None


def test_a_pod_that_gives_back_twice_during_its_write_keeps_its_devices_booked():
    scene = Scene()
    scene.ask()
    for _ in range(2):
        scene.writes.give_back(KEY, "pod-1", 0.0)
    assert scene.progress.allocation == GIVEN
    assert scene.progress.leaving == {"pod-1"}


def test_whoever_joins_keeps_a_claim_from_being_freed():
    scene = Scene(given=GIVEN)
    scene.writes.free(KEY, 0.0)
    assert scene.progress.freeing
    scene.writes.reserve(KEY, ONE, 0.0)
    assert not scene.progress.freeing


def test_nothing_is_left_of_a_claim_that_is_gone():
    scene = Scene(given=GIVEN, reserved=("1",))
    scene.writes.give_back(KEY, "pod-1", 0.0)
    write = scene.next()
    assert write is not None
    scene.claims.clear()
    scene.writes.advance(KEY, 0.0)
    scene.writes.note_ended(WriteEnd(write), 0.0)
    assert scene.writes.get(KEY) is None


def test_whoever_joined_during_a_write_that_is_refused_is_written_at_once():
    scene = Scene()
    write = scene.ask()
    assert write is not None
    scene.ask(TWO)
    scene.writes.note_ended(WriteEnd(write, "forbidden"), 0.0)
    assert scene.ended() == [("pod-1", KEY, "forbidden")]
    following = scene.next()
    assert following is not None
    assert following.join == (TWO,)


def test_a_pod_that_comes_back_while_it_leaves_has_the_claim_only_after_the_write():
    scene = Scene(given=GIVEN, reserved=("1",))
    scene.writes.give_back(KEY, "pod-1", 0.0)
    write = scene.next()
    assert write is not None
    scene.writes.reserve(KEY, ONE, 0.0)
    assert scene.ended() == []
    scene.show(given=None)
    scene.writes.note_ended(WriteEnd(write), 0.0)
    following = scene.next()
    assert following is not None
    assert following.join == (ONE,)


def test_pods_leave_in_one_order_and_a_claim_that_exists_is_patched_as_it_is():
    names = [str(number) for number in range(1, 10)]
    scene = Scene(given=GIVEN, reserved=names)
    for name in reversed(names):
        scene.writes.give_back(KEY, f"pod-{name}", 0.0)
    first = scene.next()
    assert first is not None
    assert (first.leave, first.instead) == (("pod-9",), None)
    scene.writes.note_ended(WriteEnd(first), 0.0)
    second = scene.next()
    assert second is not None
    assert second.leave == tuple(f"pod-{name}" for name in names)


def test_devices_that_could_not_be_freed_are_freed_later():
    scene = Scene(given=GIVEN)
    scene.writes.free(KEY, 0.0)
    write = scene.next()
    assert write is not None
    scene.writes.note_ended(WriteEnd(write, "no answer"), 5.0)
    assert scene.writes.expire(5.0 + LOOK_AGAIN_SECONDS) == [KEY]
    assert scene.next() is not None
