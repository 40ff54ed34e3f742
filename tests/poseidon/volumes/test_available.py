"""Existing volumes: which of them machines offer, as volumes change, are reserved and given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.storage import PersistentVolume
from poseidon.volumes.available import AvailableVolumes
from poseidon.volumes.records import FILESYSTEM, Profile, Volume, volume_record
from tests.poseidon.volumes.objects import typed
from tests.support import storage
from tests.support.storage import HOSTNAME

NODES = ("a", "b")
GIB = 2**30


def profile(size: int) -> Profile:
    return Profile("local", "", size * GIB, ("ReadWriteOnce",), FILESYSTEM, ())


def volume(name: str, size: int, node: str) -> Volume:
    plain = storage.volume(name, storage_class="local", size=f"{size}Gi", at=(HOSTNAME, [node]))
    made: PersistentVolume = typed(plain, name)
    return volume_record(made, {})


def taken(record: Volume) -> Volume:
    """The volume once some claim has it."""
    return replace(record, unclaimed=None)


def begin(*sizes: int) -> AvailableVolumes:
    """Two machines, and claims of these sizes."""
    available = AvailableVolumes()
    for node in NODES:
        available.put_node(node, {HOSTNAME: node})
    for size in sizes:
        assert available.want(profile(size))
        assert not available.want(profile(size))
    available.take_changed()
    return available


SIZES = (1, 2)
VOLUMES = st.tuples(st.sampled_from("vw"), st.sampled_from(SIZES), st.sampled_from(NODES))
STEPS: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("put"), VOLUMES),
    st.tuples(st.just("take"), VOLUMES),
    st.tuples(st.just("remove"), st.sampled_from("vw")),
    st.tuples(
        st.just("reserve"), st.tuples(st.sampled_from("cd"), st.sampled_from(SIZES), st.sampled_from(NODES))
    ),
    st.tuples(st.just("release"), st.sampled_from("cd")),
)


class ProjectQueues:
    """What is there: ``known`` has size, machine, and whether no claim has it; ``held`` has claims' volumes."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, str, bool]] = {}
        self.held: dict[str, tuple[str, int]] = {}

    def put(self, name: str, size: int, node: str, is_free: bool) -> None:
        if name in self.known and self.known[name][1] != node:
            self.remove(name)
        if is_free or name in self.find_reserved():
            self.known[name] = (size, node, is_free)
        else:
            self.remove(name)

    def remove(self, name: str) -> None:
        self.known.pop(name, None)
        self.held = {claim: held for claim, held in self.held.items() if held[0] != name}

    def find_reserved(self) -> dict[str, int]:
        return dict(self.held.values())

    def reserve(self, claim: str, asked: int, node: str) -> str | None:
        if claim in self.held:
            name = self.held[claim][0]
            return name if self.known[name][1] == node else None
        suitable = [
            (size, name)
            for name, (size, at, is_free) in self.known.items()
            if at == node and is_free and size >= asked and name not in self.find_reserved()
        ]
        if not suitable:
            return None
        name = min(suitable)[1]
        self.held[claim] = name, asked
        return name

    def release(self, claim: str) -> str:
        name, _ = self.held.pop(claim, ("", 0))
        if name and not self.known[name][2]:
            self.remove(name)
        return name

    def offers(self, node: str) -> dict[str, int]:
        reserved = self.find_reserved()
        found = {
            profile(wanted).resource: sum(
                at == node and (reserved[name] >= wanted if name in reserved else is_free and size >= wanted)
                for name, (size, at, is_free) in self.known.items()
            )
            for wanted in SIZES
        }
        return {resource: count for resource, count in found.items() if count}


@given(st.lists(STEPS, max_size=15))
def test_machines_offer_what_is_free_and_what_is_reserved_for_wider_claims(steps):
    available, shelf = begin(*SIZES), ProjectQueues()
    for kind, words in steps:
        before = {node: shelf.offers(node) for node in NODES}
        if kind in ("put", "take"):
            available.put(volume(*words) if kind == "put" else taken(volume(*words)))
            name, size, node = words
            shelf.put(name, size, node, kind == "put")
        elif kind == "remove":
            available.remove(words)
            shelf.remove(words)
        elif kind == "reserve":
            claim, asked, node = words
            got = available.reserve(claim, profile(asked), node)
            assert (got.name if got else None) == shelf.reserve(claim, asked, node)
        else:
            assert available.release(words) == shelf.release(words)
        changed = available.take_changed()
        assert not available.has_changed
        for node in NODES:
            assert dict(available.amounts(node)) == shelf.offers(node)
            assert node in changed or shelf.offers(node) == before[node]


def test_a_volume_that_a_claim_has_is_offered_no_more():
    available = begin(1)
    available.put(volume("v", 1, "a"))
    available.put(taken(volume("v", 1, "a")))
    assert not dict(available.amounts("a"))
    assert available.reserve("c", profile(1), "a") is None


def test_a_machine_that_is_gone_or_has_another_name_offers_nothing():
    available = begin(1)
    available.put(volume("v", 1, "a"))
    assert available.take_changed() == {"a"}
    available.put_node("a", {HOSTNAME: "a"})
    assert not available.has_changed, "nothing is new about it"
    available.put_node("a", {HOSTNAME: "c"})
    assert available.take_changed() == {"a"}
    assert not dict(available.amounts("a"))
    available.put_node("a", {HOSTNAME: "a"})
    assert dict(available.amounts("a")) == {profile(1).resource: 1}
    available.remove_node("a")
    assert not available.has_changed
    assert not dict(available.amounts("a"))


@pytest.mark.parametrize("size", [1, 2])
def test_profiles_that_come_later_are_offered_too(size):
    available = begin()
    available.put(volume("v", 2, "b"))
    available.take_changed()
    assert available.want(profile(size))
    assert available.take_changed() == {"b"}
    assert dict(available.amounts("b")) == {profile(size).resource: 1}
    assert available.list_implied(profile(size)) == [profile(size)]
