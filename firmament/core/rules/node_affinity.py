"""NodeAffinity: machines must match a task's nodeSelector and required node affinity.

Preferred node affinity affects costs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import NodeSelectorTerm, Requirement, TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.framework.work import count_checks_of_terms
from firmament.core.rules.label_typos import Label, find_near_label
from firmament.core.state.machines import MachineTable

WEIGHT = 2
"""kube-scheduler's default weight of the plugin's score."""


class NodeAffinity(NodeRule):
    """Requires that a machine matches the task's nodeSelector, and at least one required term if there are any."""

    name = "NodeAffinity"
    reasons = (Reason.WRONG_LABELS,)
    reads_of_task = ("node_selector", "required")
    reads_of_machine = ("labels", "name")
    for_tasks_with = ("node_selector", "required")
    scores_tasks_with = ("preferred",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that the selector does not match, then the machines that no required term matches."""
        if shape.node_selector:
            wrong = ~machines.selectors().pairs(shape.node_selector)
            yield MachineRefusal(Cause(Reason.WRONG_LABELS), wrong)
        if shape.required:
            wrong = ~machines.selectors().terms(shape.required)
            yield MachineRefusal(Cause(Reason.WRONG_LABELS), wrong)

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost:
        """Return the cost by preferred terms.

        The weights of matching terms are summed, and scaled so that the best machine scores 100.
        """
        matched = np.zeros(len(machines))
        selectors = machines.selectors()
        for preferred in shape.preferred:
            matched += preferred.weight * selectors.term(preferred.term)
        best = matched[feasible].max(initial=0.0)
        score = np.floor(100.0 * matched / best) if best > 0 else np.zeros(len(machines))
        return SoftCost.from_score(WEIGHT, np.minimum(score, 100.0), matched)

    def count_checks(self, content: TaskClass) -> int:
        """Return one check for each selected label, and the checks that all terms take."""
        terms = (*content.required, *(each.term for each in content.preferred))
        return len(content.node_selector) + count_checks_of_terms(terms)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures: correct a misspelled label, label the machine, or drop one constraint."""
        yield from _correct_label(standing)
        yield from _add_labels(standing)
        yield from _drop_selectors(standing.content)


def find_selected(machines: MachineTable, content: TaskClass) -> Bool:
    """Return which machines match the selector and the required terms of a class: bool[M]."""
    selected = np.ones(len(machines), dtype=np.bool_)
    if content.node_selector:
        selected &= machines.selectors().pairs(content.node_selector)
    if content.required:
        selected &= machines.selectors().terms(content.required)
    return selected


def mark_selected(content: TaskClass) -> Hashable:
    """Return the parts of a class that ``find_selected`` reads, as a key for caches."""
    return content.node_selector, content.required


def _correct_label(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures that replace a requested label that no machine has by a similar label of this machine."""
    for content, rule, before, after in _correct_class(
        standing.content, standing.machine.labels, standing.levels.values
    ):
        step = CureChange(CureKind.CORRECT, rule, before="=".join(before), after="=".join(after))
        yield CureProposal((step,), TrialChange(content, standing.machine))


def _add_labels(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield the cure that gives the machine the labels for which the task's selectors ask."""
    before = standing.machine.labels
    labels = labels_that_match(standing.content, before)
    if labels is None:
        return
    keys = sorted(key for key in {*labels, *before} if labels.get(key) != before.get(key))
    steps = tuple(
        CureChange(CureKind.LABEL_MACHINE, key, standing.machine.name, before.get(key), labels.get(key))
        for key in keys
    )
    if steps:
        yield CureProposal(steps, TrialChange(standing.content, replace(standing.machine, labels=labels)))


def _drop_selectors(content: TaskClass) -> Iterator[CureProposal]:
    """Yield cures that drop one entry of the nodeSelector, or the required node affinity."""
    for index, (key, value) in enumerate(content.node_selector):
        rest = (*content.node_selector[:index], *content.node_selector[index + 1 :])
        step = CureChange(CureKind.DROP, f"nodeSelector {key}={value}")
        yield CureProposal((step,), TrialChange(replace(content, node_selector=rest)))
    if content.required:
        step = CureChange(CureKind.DROP, "required nodeAffinity")
        yield CureProposal((step,), TrialChange(replace(content, required=())))


def labels_that_match(content: TaskClass, labels: Mapping[str, str]) -> dict[str, str] | None:
    """Return a machine's labels with the fewest changes that make them match a class; None if no change does.

    The changed labels match at least one required term. Terms about fields, and terms that compare numbers, are not
    tried.
    """
    selected = {**labels, **dict(content.node_selector)}
    if not content.required:
        return selected
    keep = dict(content.node_selector)
    found = [
        each for term in content.required if (each := _change_to_match(term, selected, keep)) is not None
    ]
    return min(found, key=lambda each: _count_changes(each, labels), default=None)


def _count_changes(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(one.get(key) != other.get(key) for key in {*one, *other})


def _change_to_match(
    term: NodeSelectorTerm, labels: Mapping[str, str], keep: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the labels, changed so that they meet a term's requirements; None if that is impossible.

    The changes must not affect labels in ``keep``.
    """
    if term.fields or not term.labels:
        return None
    changed = dict(labels)
    for requirement in term.labels:
        key, value = requirement.key, changed.get(requirement.key)
        match requirement.operator:
            case "In" if value not in requirement.values:
                if not requirement.values:
                    return None
                changed[key] = requirement.values[0]
            case "Exists" if value is None:
                changed[key] = "true"
            case "NotIn" if value in requirement.values:
                del changed[key]
            case "DoesNotExist" if value is not None:
                del changed[key]
            case "Gt" | "Lt":
                return None
    return changed if all(changed.get(key) == value for key, value in keep.items()) else None


# --- Misspelled labels: a task asks for a label that no machine has, and some machine has a similar one.


def _correct_class(
    content: TaskClass, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Iterator[tuple[TaskClass, str, Label, Label]]:
    """Yield a class with one label corrected, the name of the field with the label, and the label before and after."""
    for index, (key, value) in enumerate(content.node_selector):
        found = find_near_label(key, value, labels, offered)
        if found is not None:
            selector = (*content.node_selector[:index], found, *content.node_selector[index + 1 :])
            yield replace(content, node_selector=selector), "nodeSelector", (key, value), found
    for index, term in enumerate(content.required):
        for changed, before, after in _correct_term(term, labels, offered):
            required = (*content.required[:index], changed, *content.required[index + 1 :])
            yield replace(content, required=required), "required nodeAffinity", before, after


def _correct_term(
    term: NodeSelectorTerm, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Iterator[tuple[NodeSelectorTerm, Label, Label]]:
    for index, each in enumerate(term.labels):
        known = offered.get(each.key, ())
        if each.operator != "In" or any(value in known for value in each.values):
            continue
        for value in each.values:
            found = find_near_label(each.key, value, labels, offered)
            if found is not None:
                requirement = Requirement(found[0], "In", (found[1],))
                parts = (*term.labels[:index], requirement, *term.labels[index + 1 :])
                yield replace(term, labels=parts), (each.key, value), found
