"""What cannot be dealt with is set aside by itself: counted, logged once, and tried again."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine

pytestmark = pytest.mark.usefixtures("may_set_aside")


def node(name):
    return Change(f"uid-{name}", Node(metadata=ObjectMeta(name=name, uid=f"uid-{name}")))


class Store:
    """Takes everything but what is called bad, of which it sees half first."""

    def __init__(self, *bad):
        self.bad = set(bad)
        self.taken = []

    def __call__(self, changes):
        for change in changes:
            if change.uid.removeprefix("uid-") in self.bad:
                raise KeyError("no\nsuch thing")
            self.taken.append(change.uid)


def test_only_what_is_at_fault_is_set_aside(caplog):
    counts: Counter[str] = Counter()
    quarantine, store = Quarantine(lambda kind: counts.update([kind])), Store("b")
    quarantine.deliver("nodes", store, [node("a"), node("b"), node("c")])
    assert set(store.taken) == {"uid-a", "uid-c"}
    assert [*quarantine] == [("nodes", "uid-b", "KeyError: 'no\\nsuch thing'")]
    assert counts == {"nodes": 1}
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    text = record.getMessage()
    assert text.startswith("object set aside until it changes kind=nodes name=b error=")
    assert "\n" not in text


def test_it_is_tried_again_when_it_changes_and_logged_once(caplog):
    quarantine, store = Quarantine(), Store("b")
    for _ in range(3):
        quarantine.deliver("nodes", store, [node("b")])
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1
    store.bad.clear()
    quarantine.deliver("nodes", store, [node("a"), node("b")])
    assert store.taken == ["uid-a", "uid-b"]
    assert not [*quarantine]


def test_what_exists_no_longer_is_not_remembered():
    quarantine, store = Quarantine(), Store("b")
    quarantine.deliver("nodes", store, [Change("uid-b", None), node("a")])
    assert store.taken == ["uid-a"]
    assert not [*quarantine]


def test_an_attempt_keeps_what_it_raises_to_itself():
    quarantine = Quarantine()
    with quarantine.attempt("groups", "g", name="ns/g") as attempt:
        raise RecursionError("too deep")
    assert attempt.failed
    assert quarantine.reason("groups", "g") == "RecursionError: too deep"
    with quarantine.attempt("groups", "g") as attempt:
        pass
    assert not attempt.failed
    assert len(quarantine) == 0


def test_what_ends_the_process_is_not_kept():
    quarantine = Quarantine()
    with pytest.raises(KeyboardInterrupt), quarantine.attempt("groups", "g"):
        raise KeyboardInterrupt
    assert len(quarantine) == 0


def test_reasons_are_short_and_can_be_written():
    quarantine = Quarantine()
    reason = quarantine.set_aside("pods", "p", ValueError("\ud800" + "x" * 10_000))
    assert len(reason) <= 300
    reason.encode()
