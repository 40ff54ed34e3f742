"""Functions are called by what they do: a verb first, no participle and no lone preposition."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.repository.definitions import iter_definitions

PACKAGES = ("firmament", "cost_models", "poseidon", "protos")

PREPOSITIONS: Final = re.compile(
    "of|to|by|at|on|in|into|onto|over|under|per|for|with|within|without|between|among|above|below|before|after"
    "|until|through|against|near|beside|beyond|behind|across"
)
PARTICIPLES: Final = re.compile(
    "told|kept|held|taken|given|left|sent|found|made|known|drawn|gone|bound|built|done|said|seen|shown|met|lost|chosen"
    "|written|begun|brought|caught|hidden|broken|spent|led|meant|withdrawn|overtaken|grown"
)
VERBS: Final = {"need", "feed", "seed", "speed", "proceed", "exceed", "embed", "shed"}
"""Verbs that end as participles do."""

PROTOCOLS: Final = {
    # Collections and stores.
    "add": "takes one more object in, or what goes with it",
    "remove": "takes an object out again",
    "put": "keeps an object in the place of the one with the same key",
    "put_pod": "records a pod as it is now, in place of what was recorded of it before",
    "get": "returns an object by its key, None if there is none",
    "copy": "returns an independent one with the same content",
    "clear": "forgets everything",
    "forget": "forgets one object, if it is known",
    "keep": "keeps an object beyond the call",
    "mark": "notes that something about an object has changed",
    "move": "takes an object, or its row, from one place to another",
    "select": "returns the part of a table that rows or conditions name",
    "reset": "goes back to the state before the first call",
    "refresh": "brings what is derived up to date",
    "renumber": "goes over to new row numbers",
    "keep_columns": "goes over to other columns of resources",
    # What has a life.
    "main": "runs a command, and returns its exit status",
    "run": "works until it is done, or cancelled",
    "begin": "starts; nothing is done before",
    "close": "gives back what is held; nothing may follow",
    "release": "gives back what was taken or reserved",
    "advance": "lets simulated time pass",
    "expire": "ends what has waited for too long",
    "note": "writes down what has happened, without acting on it",
    "report": "passes on what has come of something",
    # Requests and answers.
    "ask": "sends a question, and returns the answer",
    "answer": "returns the answer to a question",
    "resolve": "returns what a name stands for",
    "read": "returns what a text, file or object says; raises an error that names the place",
    "patch": "changes an object of the API server in part",
    "delete": "deletes an object",
    "describe": "returns an object in the words of the protocol, or of people",
    "explain": "says why a task is where it is, or is nowhere",
    "as_json": "returns what a client gets as JSON",
    "convert": "turns the text of an option into its value; the name is click's",
    "add_to": "adds what it holds to something larger",
    # The bridge.
    "take_changes": "takes objects as they are now, as a watch tells it",
    "take_events": "returns events that the solver has not been sent, once",
    "take_changed": "returns what has changed since the last call, once",
    "forget_sent": "forgets what a solver was sent, as another one comes",
    "node_gone": "forgets a node",
    "on_round": "takes the result of a round",
    # The solver.
    "apply": "takes events or changes in",
    "run_round": "runs a round, and returns its result",
    "solve": "returns an optimal flow of a network",
    "assess": "returns what a cost model says of shapes on machines",
    "crowding": "part of the interface of cost models",
    "usage": "part of the interface of cost models: what machines have used",
    "save": "returns, or writes, what another process can read again",
    "book": "gives away room to tasks",
    "admit": "counts somebody in, if there is room or leave; returns whether",
    "compile": "turns rules as they are stated into what a round asks",
    "find": "returns what matches, None if nothing does",
    "join": "returns several parts as one",
    "score": "returns how good machines are",
    "withdraw": "takes back what was said or asked before",
    "place": "finds places for tasks",
    "admits": "whether a machine, or a group of machines, takes somebody",
    "allows": "whether one more task may go to a machine",
    "involves": "whether a constraint looks at a task class",
    "holds": "whether a condition is met",
    "refusals": "yields why machines are refused, with the machines",
    "cures": "yields what would let a task have a place",
    "count_room": "counts the tasks that machines, or groups of them, still take",
    "count_checks": "estimates how often a round checks each machine for a class",
    "next_in": "returns in how many seconds something is due",
    "due": "returns what is due now",
    "refusal": 'returns why something is refused, "" if it is not',
    "read_quotas": "returns the quotas of the queue objects of one project",
    "payload": "returns the content of a record",
    # Searches.
    "evaluate": "returns the next change that a move would make",
    "accepts": "whether a change, or somebody, is one to keep",
    "undo": "takes back what has been done",
    "amounts": "returns quantities by resource",
    "counts": "returns how many there are of each kind",
    "rows": "returns rows of a table",
}
"""Names that more than four functions have, and what all of these do."""


class Function(NamedTuple):
    """A function, or a method, of the programs."""

    place: str
    name: str
    is_property: bool


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


def functions(packages: tuple[str, ...]) -> Iterator[Function]:
    """Yield all functions, but those whose names Python gives."""
    for path, node in iter_definitions(packages):
        if not isinstance(node, ast.ClassDef) and not node.name.startswith("__"):
            yield Function(f"{path}:{node.lineno}", node.name, _is_property(node))


def is_no_verb(name: str) -> bool:
    """Whether a name is a lone preposition, or begins with a participle."""
    first, *others = name.strip("_").split("_")
    if not others and PREPOSITIONS.fullmatch(first):
        return True
    return bool(PARTICIPLES.fullmatch(first)) or (first.endswith("ed") and first not in VERBS)


def test_functions_are_called_by_verbs():
    bad = [each for each in functions(PACKAGES) if not each.is_property and is_no_verb(each.name)]
    assert not [f"{each.place} {each.name}" for each in bad], "call them by what they do"


def test_a_name_of_many_functions_means_one_thing():
    public = functions(PACKAGES[:3])
    times = Counter(each.name for each in public if not (each.is_property or each.name.startswith("_")))
    many = {name for name, count in times.items() if count > 4}
    assert not many - PROTOCOLS.keys(), (
        "say by their names what tells them apart, or above what all of them do"
    )
    assert not PROTOCOLS.keys() - many, "few functions have this name; it needs no entry"
