"""What `explain` prints of a pod: its own node first, feasible nodes by cost, counts of the rest, details and cures."""

from __future__ import annotations

import pytest

from poseidon.explanation_tables import Printer, print_explanation, print_rows
from poseidon.explanations import Charge, PodExplanation, Remedy, Verdict

NO_ROOM = ("Insufficient cpu", "Insufficient memory")


def verdict(cost: float = 0.0, *reasons: str, **models: Charge) -> Verdict:
    return Verdict(not reasons, reasons, float(cost), models)


def lines(capsys) -> list[str]:
    """Return what was printed, with one blank between words."""
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def explain(nodes, node="", **more) -> PodExplanation:
    return PodExplanation("shop/web", node, nodes, (), **more)


def test_rows_are_printed_after_an_empty_line_and_nothing_without_rows(capsys):
    print_rows(("A", "B"), [])
    assert capsys.readouterr().out == ""
    print_rows(("A", "B"), [("1", "2"), ("30", "x")])
    assert capsys.readouterr().out == "\nA    B\n1    2\n30   x\n"


def test_a_part_has_an_empty_line_behind_it(capsys):
    Printer().print_part(("A",), [])
    assert capsys.readouterr().out == ""
    Printer().print_part(("A",), [("1",)])
    assert capsys.readouterr().out == "A\n1\n\n"


def test_lines_in_files_are_not_broken_and_mean_what_they_say(capsys):
    Printer().print("[red]" + "x" * 9_000 + ":smile: ")
    assert capsys.readouterr().out == "[red]" + "x" * 9_000 + ":smile:\n"


def test_nodes_are_in_order_of_what_a_reader_looks_for(capsys):
    nodes = {
        "no-a": verdict(1, "Insufficient cpu"),
        "dear": verdict(9),
        "b": verdict(2),
        "a": verdict(2),
        "own": verdict(50, *NO_ROOM),
    }
    print_explanation(explain(nodes, "own"))
    assert lines(capsys) == [
        "Pod shop/web runs on own; 3 of 5 nodes are feasible.",
        "",
        "NODE FEASIBLE COST REASONS",
        "own no 50 Insufficient cpu; Insufficient memory",
        "a yes 2",
        "b yes 2",
        "dear yes 9",
        "no-a no 1 Insufficient cpu",
    ]


def test_each_model_has_a_column_and_details_follow(capsys):
    plain = Charge(True, 3.5, None, 7.0)
    scored = Charge(True, 0.25, 75.0, 25.0, ("half of it", "is used"))
    nodes = {"a": verdict(32, spread=scored, load=plain), "b": verdict(7, load=plain)}
    print_explanation(explain(nodes, outlook=("It waits.",)))
    assert lines(capsys) == [
        "Pod shop/web waits for a node; 2 of 2 nodes are feasible.",
        "It waits.",
        "",
        "NODE FEASIBLE COST SPREAD LOAD REASONS",
        "b yes 7 - 7",
        "a yes 32 25 7",
        "",
        "NODE MODEL RAW SCORE DETAIL",
        "a spread 0.25 75 half of it",
        "a spread 0.25 75 is used",
    ]
    without = Charge(True, 0.5, None, 1.0, ("no score",))
    print_explanation(explain({"a": verdict(1, x=without)}))
    assert lines(capsys)[-1] == "a x 0.5 - no score"


@pytest.mark.parametrize("most", [0, 3, 4])
def test_all_nodes_are_shown_if_there_are_no_more(capsys, most):
    print_explanation(explain({name: verdict(1) for name in "abc"}), most)
    assert len(lines(capsys)) == 6


def test_nodes_beyond_the_limit_are_counted_by_what_is_said_of_them(capsys):
    told = Charge(True, 1.0, 1.0, 1.0, ("a detail",))
    nodes = {
        "a": verdict(1),
        "b": verdict(2, model=told),
        "c": verdict(3),
        **{f"x{number}": verdict(5, *NO_ROOM) for number in range(3)},
    }
    print_explanation(explain(nodes), 1)
    assert lines(capsys)[2:] == [
        "NODE FEASIBLE COST MODEL REASONS",
        "a yes 1 -",
        "",
        "3 more: Insufficient cpu; Insufficient memory",
        "2 more: feasible",
        "--most 0 shows all nodes, and so does -o json.",
    ]


def test_only_the_most_frequent_reasons_are_counted(capsys):
    nodes = {f"n{number:02}": verdict(1, f"reason {number:02}") for number in range(12)}
    print_explanation(explain(nodes), 1)
    assert [line for line in lines(capsys) if "more: " in line] == [
        f"1 more: reason {number:02}" for number in range(1, 11)
    ]


def test_cures_come_last_with_their_commands(capsys):
    cures = (Remedy("Do this.", ("kubectl one", "kubectl two"), {}), Remedy("Or that.", (), {}))
    print_explanation(explain({}, cures=cures))
    assert capsys.readouterr().out.splitlines() == [
        "Pod shop/web waits for a node; 0 of 0 nodes are feasible.",
        "",
        "Do this.",
        "    kubectl one",
        "    kubectl two",
        "Or that.",
    ]
