"""Labels that nodes have from elsewhere: each change is told once, in the order of names."""

from __future__ import annotations

from collections.abc import Mapping

from poseidon.nodes.added_labels import AddedLabels


def take(known: AddedLabels) -> list[tuple[str, Mapping[str, str]]]:
    """The changes, where each node gets the first letter of its zone."""
    return [*known._take_changed(lambda _, own: {"z": own["zone"][0]} if own else {})]


def test_only_changes_of_what_is_added_are_told():
    known = AddedLabels()
    known.note_node("b", {"zone": "west"})
    known.note_node("a", {"zone": "east"})
    known.note_node("c", {})
    assert take(known) == [("a", {"z": "e"}), ("b", {"z": "w"})]
    assert take(known) == []
    known.note_node("a", {"zone": "east"})
    known.note_node("b", {"zone": "wild west"})
    assert take(known) == []
    known.note_node("b", {"zone": "north"})
    assert take(known) == [("b", {"z": "n"})]
    known.note_node("b", {})
    assert take(known) == [("b", {})], "what was added is taken away again"


def test_a_node_that_is_forgotten_is_told_anew_when_it_returns():
    known = AddedLabels()
    known.note_node("a", {"zone": "east"})
    take(known)
    known.forget_node("a")
    known.forget_node("unknown")
    assert take(known) == []
    known.note_node("a", {"zone": "east"})
    assert take(known) == [("a", {"z": "e"})]
    known.note_node("a", {"zone": "west"})
    known.forget_node("a")
    assert take(known) == []
