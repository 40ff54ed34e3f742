"""Which schedulers the pods of a group are for."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.pod_groups.scheduler_names import Named, WaitingMembers, foreign_words, split_words
from tests.support.effort import examples


class Unread(WaitingMembers):
    """Pods that must be counted without looking at each."""

    def __iter__(self):
        raise AssertionError("each pod of a large group would be read for each pod that comes")


def test_the_pods_of_a_large_group_for_one_scheduler_are_not_read_one_by_one():
    waiting = Unread()
    for number in range(5):
        waiting.put(f"u{number}", Named(f"a/p{number}", "poseidon"))
        assert split_words(10, 0, waiting) == ""
    waiting.put("u5", Named("a/p5", "other"))
    assert split_words(5, 0, waiting) == ""


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "one", "two", "three"])), max_size=20)
)
def test_pods_are_counted_as_they_are_now(steps):
    waiting, expected = WaitingMembers(), {}
    for uid, scheduler in steps:
        if scheduler:
            waiting.put(uid, Named(uid, scheduler))
            expected[uid] = scheduler
        else:
            waiting.remove(uid)
            expected.pop(uid, None)
    assert len(waiting) == len(expected)
    assert waiting.counts == Counter(expected.values())
    assert sorted(waiting) == sorted(Named(uid, scheduler) for uid, scheduler in expected.items())


def test_of_each_scheduler_the_first_pod_by_name_is_named():
    waiting = WaitingMembers()
    for name, scheduler in (("c", "two"), ("b", "one"), ("d", "two"), ("a", "one"), ("e", "one")):
        waiting.put(f"uid-{name}", Named(f"ns/{name}", scheduler))
    assert split_words(5, 1, waiting).startswith(
        "its pods are for several schedulers (ns/a (one), ns/c (two)), none of which can place 5 of them together"
    )
    assert split_words(5, 2, waiting) == ""


def test_members_for_another_scheduler_are_named_in_order_where_the_group_lacks_them():
    foreign = [Named("ns/b", "other"), Named("ns/a", "other")]
    words = foreign_words(3, 1, foreign)
    assert words.startswith(
        "waits for members: 1 of 3 are for this scheduler, and ns/a (other), ns/b (other) are"
    )
    assert "ns/b (other) is for another" in foreign_words(3, 2, foreign[:1])
    assert foreign_words(3, 3, foreign) == "", "it is whole without them"
    assert foreign_words(1, 0, foreign) == "", "a single pod lacks nobody"
    assert foreign_words(3, 1, []) == ""
