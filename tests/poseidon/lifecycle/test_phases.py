"""The table of the pod lifecycle: complete, connected, and carried out by one module alone."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import pytest

from poseidon.lifecycle.phases import TABLE, UNPLACED, Event, Phase, RefusedEventError, Stories, next_phase

ROOT = Path(__file__).resolve().parents[3]
PAIRS = list(product(Phase, Event))
HOLDS = {"group_wait", "claims_wait", "priority_wait", "fault", "schedulable"}
WRITTEN_BY_THE_OWNER = {"phase", "node", "binding", *HOLDS}


@pytest.mark.parametrize(("phase", "event"), PAIRS, ids=[f"{p.name}-{e.name}" for p, e in PAIRS])
def test_each_pair_is_in_the_table_once_and_either_leads_on_or_is_refused_by_name(phase: Phase, event: Event):
    row = TABLE[event]
    refusals = [words for words, phases in row.refused.items() if phase in phases]
    assert (phase in row.moves) + (phase in row.stays) + len(refusals) == 1
    if refusals:
        with pytest.raises(RefusedEventError, match=refusals[0]) as raised:
            next_phase(phase, event)
        assert event.value in str(raised.value)
        assert phase.value in str(raised.value)
    else:
        assert next_phase(phase, event) is row.moves.get(phase, phase)


def test_no_event_takes_a_pod_off_its_node_once_it_is_there():
    placed = {Phase.BOUND, Phase.EVICTING, Phase.LEAVING, Phase.ANSWER_DUE}
    for phase, event in product(placed, Event):
        if phase in TABLE[event].moves:
            assert TABLE[event].moves[phase] in placed


def test_every_phase_is_reached_and_every_placement_can_end():
    reached: set[Phase] = {Phase.HELD}
    before: set[Phase] = set()
    while reached != before:
        before = set(reached)
        reached |= {
            target for row in TABLE.values() for phase, target in row.moves.items() if phase in reached
        }
    assert reached == set(Phase)
    for phase in (Phase.PLACED, Phase.WAITING, Phase.BINDING_CLAIMS, Phase.BINDING):
        assert next_phase(phase, Event.GIVEN_UP) in UNPLACED


def test_only_the_owner_writes_where_a_pod_is_and_what_holds_it_back():
    names = {"record", "held", "other", "known", "theirs"}
    writers = set()
    for file in (ROOT / "poseidon").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id in names
                and node.attr in WRITTEN_BY_THE_OWNER
            ):
                writers.add(str(file.relative_to(ROOT)))
    assert writers == {"poseidon/lifecycle/pod_records.py"}


def test_a_story_tells_the_steps_of_one_pod_in_order_and_forgets_the_oldest():
    now = [10.0]
    stories = Stories(lambda: now[0], capacity=2)
    stories.note("a", Event.OFFERED, Phase.HELD, Phase.PENDING, "")
    stories.note("b", Event.OFFERED, Phase.HELD, Phase.PENDING, "")
    now[0] = 11.5
    stories.note("a", Event.PLACED, Phase.PENDING, Phase.PLACED, "n1")
    assert stories.list_lines("a") == ["0.000 s ago: placed by the solver: pending -> placed node=n1"]
    assert stories.list_lines("b") == ["1.500 s ago: nothing holds it back: held -> pending"]
