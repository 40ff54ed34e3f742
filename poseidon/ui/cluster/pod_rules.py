"""Describes, in lines for people, which nodes a pod's spec allows; very long specs are shortened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poseidon.kube.api.pod_rules import (
        LabelSelector,
        LabelSelectorRequirement,
        NodeSelectorRequirement,
        NodeSelectorTerm,
        PodAffinity,
        PodAffinityTerm,
        Toleration,
    )
    from poseidon.kube.api.pods import PodSpec

_MOST_LINES = 50
_MOST_TEXT = 500
_MOST_VALUES = 20


class PodRules(NamedTuple):
    """The rules of a pod's spec about nodes, as lines for people.

    ``selectors`` has the node selector, affinities and spread constraints; ``tolerations`` has tolerations as
    ``kubectl`` writes them.
    """

    selectors: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()


NO_RULES = PodRules()


def pod_rules(spec: PodSpec) -> PodRules:
    """Return the rules that a pod's spec states about nodes."""
    if not (spec.node_selector or spec.affinity or spec.topology_spread_constraints or spec.tolerations):
        return NO_RULES
    return PodRules(_limit_lines(_selectors(spec)), _limit_lines(map(_toleration, spec.tolerations)))


def _limit_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line[:_MOST_TEXT] for line in islice(lines, _MOST_LINES))


def _selectors(spec: PodSpec) -> Iterator[str]:
    yield from (f"node has {key}={value}" for key, value in spec.node_selector.items())
    affinity = spec.affinity
    if affinity is not None:
        nodes = affinity.node_affinity
        if nodes is not None and nodes.required is not None:
            yield f"node has {' or '.join(map(_node_term, nodes.required.node_selector_terms))}"
        for each in nodes.preferred if nodes is not None else ():
            yield f"better if node has {_node_term(each.preference)} (weight {each.weight})"
        yield from _about_pods(affinity.pod_affinity, "near")
        yield from _about_pods(affinity.pod_anti_affinity, "apart from")
    for spread in spec.topology_spread_constraints:
        hard = "" if spread.when_unsatisfiable != "ScheduleAnyway" else "better if "
        pods = _labels(spread.label_selector)
        yield f"{hard}spread {pods} over {spread.topology_key}, skew {spread.max_skew} at most"


def _about_pods(rules: PodAffinity | None, where: str) -> Iterator[str]:
    for term in rules.required if rules is not None else ():
        yield _pod_term(term, where)
    for each in rules.preferred if rules is not None else ():
        yield f"better if {_pod_term(each.pod_affinity_term, where)} (weight {each.weight})"


def _pod_term(term: PodAffinityTerm, where: str) -> str:
    if term.namespace_selector is not None:
        named = _labels(term.namespace_selector).removeprefix("pods with ")
        spaces = " in all namespaces" if named == "all pods" else f" in namespaces with {named}"
    else:
        spaces = f" in {', '.join(term.namespaces[:_MOST_VALUES])}" if term.namespaces else ""
    return f"{where} {_labels(term.label_selector)}{spaces} by {term.topology_key}"


def _node_term(term: NodeSelectorTerm) -> str:
    conditions = [*term.match_expressions, *term.match_fields]
    return " and ".join(map(_condition, conditions)) or "nothing that any node has"


def _labels(selector: LabelSelector | None) -> str:
    if selector is None:
        return "no pods"
    labels: Mapping[str, str] = selector.match_labels
    conditions = [f"{key}={value}" for key, value in labels.items()]
    conditions += map(_condition, selector.match_expressions)
    return f"pods with {' and '.join(conditions)}" if conditions else "all pods"


def _condition(given: NodeSelectorRequirement | LabelSelectorRequirement) -> str:
    values = ", ".join(given.values[:_MOST_VALUES])
    more = ", …" if len(given.values) > _MOST_VALUES else ""
    match given.operator:
        case "In" if len(given.values) == 1:
            return f"{given.key}={values}"
        case "Exists":
            return given.key
        case "DoesNotExist":
            return f"no {given.key}"
        case "Gt" | "Lt":
            return f"{given.key} {'>' if given.operator == 'Gt' else '<'} {values}"
        case operator:
            return f"{given.key} {'in' if operator == 'In' else 'not in'} ({values}{more})"


def _toleration(given: Toleration) -> str:
    value = f"={given.value}" if given.value and given.operator != "Exists" else ""
    return f"{given.key or 'every taint'}{value}" + (f":{given.effect}" if given.effect else "")
