"""What is sent out of an outbox is the difference to what was sent last, whatever happened in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.custom_records import NameIndex, Outbox

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 2))),
        st.sampled_from(["take", "stream"]),
    ),
    max_size=40,
)


@given(CHANGES)
def test_a_receiver_ends_up_with_what_is_desired_and_is_told_nothing_twice(changes):
    outbox: Outbox[str, int] = Outbox()
    desired: dict[str, int] = {}
    receiver: dict[str, int] = {}

    def take():
        gone, changed = outbox.take_gone(), outbox.take_changed()
        assert len({*gone, *(key for key, _ in changed)}) == len(gone) + len(changed)
        for key in gone:
            del receiver[key]
        for key, value in changed:
            assert receiver.get(key, "nothing") != value
            receiver[key] = value
        assert receiver == desired

    for change in changes:
        if change == "take":
            take()
        elif change == "stream":
            receiver.clear()
            outbox.begin_stream()
        elif change[1] is None:
            desired.pop(change[0], None)
            outbox.drop(change[0])
        else:
            desired[change[0]] = change[1]
            outbox.put(*change)
    take()
    assert (outbox.take_gone(), outbox.take_changed()) == ([], [])
    assert sorted(outbox) == sorted(desired.values())


def test_the_late_end_of_an_object_does_not_end_its_namesake():
    names = NameIndex()
    names.put("uid-1", "web")
    names.put("uid-2", "web")
    assert names.remove("uid-1") == ""
    assert names.remove("uid-2") == "web"
    assert names.remove("uid-2") == ""
