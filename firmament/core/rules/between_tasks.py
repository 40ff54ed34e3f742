"""Compiles what tasks and models say about each other into the rules of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firmament.core.constraints.ruleset import RuleSet
from firmament.core.rules.compilation import Compilation
from firmament.core.rules.models import model_constraints
from firmament.core.rules.pod_rules import POD_RULES
from firmament.core.rules.rule_counters import Inhabitants
from firmament.core.state.cluster import Cluster


def compile_rules(cluster: Cluster, waiting: Sequence[int], *, without: int = -1) -> RuleSet | None:
    """Rules of a round for the waiting classes (``waiting[c]``: class row of problem class c); None if there are none.

    ``without``: row of a task that is not to be counted where it is.
    """
    if not len(cluster.machines):
        return None
    modelled = model_constraints(cluster, waiting, without=without)
    rules = _compile_counted(cluster, waiting, without)
    if not modelled:
        return rules
    rules = rules or RuleSet([])
    of = dict(rules.of)
    for cls in range(len(waiting)):
        if any(each.involves(cls) for each in modelled):
            of[cls] = replace(rules.rules(cls), modelled=True)
    return replace(rules, of=of, modelled=modelled)


def _compile_counted(cluster: Cluster, waiting: Sequence[int], without: int) -> RuleSet | None:
    """The rules that Kubernetes knows, which are all about counters."""
    if not cluster.classes.ruled:
        return None
    inhabitants = Inhabitants(cluster, without=without)
    present = {*waiting, *inhabitants.classes.tolist()}
    ruled = [row for row in cluster.classes.ruled if row in present]
    if not ruled:
        return None
    compilation = Compilation(cluster, waiting, inhabitants, ruled)
    for rule in POD_RULES:
        rule.compile(compilation)
    rules = compilation.finish()
    return rules if rules.of else None
