"""The message of a task that stays pending: how many machines refuse it, and for which reasons."""

from __future__ import annotations

import pytest

from firmament.core.diagnosis.failed_scheduling_message import (
    explain_too_few_places,
    format_unavailable_nodes,
    introduce_gang,
)


@pytest.mark.parametrize(
    ("machines", "counts", "of_task", "sentence"),
    [
        (0, [("x", 1)], "y", "0/0 nodes are available: no nodes available to schedule pods."),
        (3, [], "", "0/3 nodes are available."),
        (3, [("x", 3)], "the task is bad", "0/3 nodes are available: the task is bad."),
        (1, [("x", 1)], "", "0/1 nodes are available: 1 x."),
        (15, [("b", 2), ("a", 2), ("c", 11)], "", "0/15 nodes are available: 11 c, 2 a, 2 b."),
    ],
)
def test_sentences_count_machines(machines: int, counts: list[tuple[str, int]], of_task: str, sentence: str):
    assert format_unavailable_nodes(machines, counts, of_task) == sentence


def test_places_that_are_too_few():
    words = "node(s) had room for some of them, but not for all at once"
    assert explain_too_few_places("") == words
    assert explain_too_few_places("cpu") == f"{words} (because of cpu)"


def test_a_gang_is_introduced_with_the_places_that_it_needs():
    assert introduce_gang("g", 1) == "gang g needs 1 place: "
    assert introduce_gang("g", 4) == "gang g needs 4 places at once: "
