"""Finds changes (cures) that would give waiting pods a node, and describes them in words."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace

from poseidon.embedding import EmbeddedTrials
from poseidon.offline.audit.findings import Cure, CureStep, Move, format_quantity
from poseidon.offline.audit.object_changes import OF_GROUP, OF_TREE, Objects
from protos.conventions.number_formats import format_count

_TRIES = 40
"""The most changes that are tried for each class of waiting pods."""

_ANEW = " (create it anew: the field cannot be changed)"
_TEMPLATE_ANEW = " (create its template anew: the field cannot be changed)"

_MOST = 5
"""The most cures that a report has for each class of waiting pods; those that change least are kept."""


def find_cures(
    trials: EmbeddedTrials, pods: Collection[str], tries: int, nodes: Mapping[str, str], objects: Objects
) -> tuple[Cure, ...]:
    """Return the cures of the waiting pods ``pods`` (uids), in order of uid.

    ``nodes`` has the node of each pod that has one, by uid. Cures whose changes people cannot make to ``objects`` are
    left out.
    """
    found: list[Cure] = []
    tried = trials.cures(pods, min(tries, _TRIES), _MOST)
    for pod in sorted(pods):
        for cure in tried.get(pod, ()):
            steps = tuple(CureStep(step.kind.value, *step[1:]) for step in cure.steps)
            moves = tuple(Move(uid, nodes[uid], target) for uid, target in sorted(cure.moves.items()))
            made = Cure(pod, cure.machine, steps[0].kind, "", steps, moves, cure.rival, cure.together)
            found += describe_cures([made], objects)
        found += propose_fewer_replicas(pod, nodes, objects)
    return tuple(found)


def describe_cures(cures: Iterable[Cure], objects: Objects) -> Iterator[Cure]:
    """Yield those of the given cures that people can carry out, with texts and commands."""
    for each in cures:
        changes = objects.changes(each.pod, each.changes)
        if changes is not None:
            made = _describe(replace(each, kind=changes[0].kind, changes=changes))
            yield replace(made, commands=() if made.moves else objects.commands(each.pod, changes))


def propose_fewer_replicas(pod: str, placed: Container[str], objects: Objects) -> Iterator[Cure]:
    """Yield the cure that scales a pod's workload down to its ``placed`` pods (uids), if such a cure exists."""
    fewer = objects.fewer_replicas(pod, placed)
    if fewer is not None:
        made = _describe(Cure(pod, "", fewer.kind, "", (fewer,), ()))
        yield replace(made, commands=objects.commands(pod, (fewer,)))


def _describe(cure: Cure) -> Cure:
    """Return a cure with its text; if it consists of moves, drop its changes, which would repeat the moves."""
    if cure.moves:
        gang = cure.changes[0].after
        text = _describe_moves(cure.moves) + (
            f"; then all {gang} pods of its gang have places" if gang else ""
        )
        return replace(cure, text=text, changes=())
    helped = f"; then all {cure.together} pods that wait together have places" if cure.together > 1 else ""
    first = f" ({cure.rival}, which waits, too, would get it first)" if cure.rival else ""
    return replace(cure, text="; ".join(_text(each) for each in cure.changes) + helped + first)


def _describe_moves(moves: Iterable[Move]) -> str:
    return "move " + ", ".join(f"{move.pod} to {move.target}" for move in moves)


def _text(step: CureStep) -> str:
    """Return the text of a step for people, which says what to change."""
    subject, node = step.subject, step.node
    match step.kind:
        case "lower-request":
            before = format_quantity(subject, int(step.before or 0))
            after = format_quantity(subject, int(step.after or 0), down=True)
            text = f"request {after} of {subject} instead of {before}"
        case "fewer-devices":
            after = format_count(int(step.after or 0), "device")
            text = f"{after} instead of {step.before} in {subject}{_TEMPLATE_ANEW}"
        case "correct-selector":
            text = f"ask for {step.after} instead of {step.before}, which no node has (did you mean that?)"
        case "tolerate":
            text = f"tolerate the taint {subject}"
        case "label-node":
            off = f"take the label {subject} off node {node}"
            text = off if step.after is None else f"label node {node} with {subject}={step.after}"
        case "annotate-node":
            off = f"take the annotation {subject} off node {node}"
            text = off if step.after is None else f"annotate node {node} with {subject}={step.after}"
        case "uncordon-node":
            text = f"uncordon node {node}"
        case "widen-rule" | "drop-constraint":
            text = _describe_rule(step)
        case "enlarge-node" | "add-devices":
            text = _describe_more(step)
        case "fewer-replicas" if subject:
            left = format_count(int(step.after or 0), "replica")
            text = f"{left} of {subject} instead of {step.before}; then none waits"
        case "fewer-replicas":
            fewer = format_count(int(step.after or 0), "pod")
            text = f"a gang of {fewer} instead of {step.before}, with its minimum lowered by as many"
        case _:
            count = int(step.after or 1)
            text = f"one more node like {node}" if count == 1 else f"{count} more nodes like {node}"
    return text


def _describe_more(step: CureStep) -> str:
    """Return the text of a step that gives a node more of a resource, or more devices."""
    before, after = int(step.before or 0), int(step.after or 0)
    if step.kind == "add-devices":
        return f"{format_count(after, 'more device')} like {step.subject} on node {step.node}"
    return f"{format_quantity(step.subject, after - before)} more of {step.subject} on node {step.node}"


def _describe_rule(step: CureStep) -> str:
    """Return the text of a step that widens or drops a rule of the pod or of its group."""
    rule, _, key = step.subject.rpartition(" by ")
    anew = _ANEW if rule.startswith((OF_GROUP, *OF_TREE)) else ""
    if step.kind == "drop-constraint":
        return f"do without {step.subject}{anew}"
    if isinstance(step.after, int):
        return f"maxSkew {step.after} in the {step.subject}"
    return f"{step.after} instead of {key} in the {rule}{anew}"
