"""A rule lives in one file: who else names what it alone is about is listed here, and the list only becomes shorter."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from firmament.core.model import Disk, HostPort, SpreadRule, TaskClass, TaskSelector, TaskTerm
from firmament.core.rules.pod_rules import POD_RULES
from firmament.core.rules.registry import DEFAULT
from firmament.core.state.classes import has_rules

ROOT = Path(__file__).resolve().parents[2]

SHARED = ("firmament/wire/", "firmament/configuration/", "firmament/submit/", "firmament/pictures/")
"""What comes in from outside names everything."""

VALUES = ("firmament/core/reasons.py", "firmament/core/model.py")

AMBIGUOUS = {
    "requests": "also of a problem: how much shapes request",
    "required": "also of a spread rule",
    "spread": "also of a problem: default spread",
    "unschedulable": "also of tasks that wait",
}
"""Fields whose names other values have too: these rules are found by their reasons alone."""

_TABLES = {
    "firmament/core/intake/validation.py": "refuses what is malformed",
    "firmament/core/state/machines.py": "keeps columns of what machines state",
}
_ELIGIBLE = {"firmament/core/state/domains.py": "nodeAffinityPolicy and nodeTaintsPolicy of spread rules"}
_ENGINE = {
    "firmament/core/constraints/counters.py": "the engine's conditions, which have their reasons with them",
    "firmament/core/constraints/ruleset.py": "as above",
}
_WORK = {"firmament/core/queue/class_work.py": "estimates what a class costs a round"}
_PLACER = {"firmament/core/placement/tree_groups/placer.py": "by which reasons tasks keep others out"}
_ORDER = {"firmament/core/filters/root_causes.py": "the order of reasons within a stage"}

ELSEWHERE: dict[str, dict[str, str]] = {
    "node_name.py": {"firmament/core/rules/pins.py": "the same for classes that name one machine each"},
    "taint_toleration.py": {
        **_WORK,
        **_TABLES,
        **_ELIGIBLE,
        "firmament/core/rescheduling/trials.py": "machines that are emptied are cordoned",
        "firmament/core/rules/node_ready.py": "tolerations of the taint that stands for it",
        "firmament/core/rules/node_unschedulable.py": "as above",
    },
    "node_ready.py": {
        "firmament/core/gangs/least_room.py": "room on machines that are not ready is none",
        "firmament/core/state/machines.py": "keeps columns of what machines state",
    },
    "node_affinity.py": {
        **_WORK,
        **_ELIGIBLE,
        "firmament/core/selectors/near_labels.py": "labels that nearly exist",
    },
    "node_volumes.py": {
        **_WORK,
        **_PLACER,
        "firmament/core/rules/pins.py": "volumes that are on one machine",
        "firmament/core/rules/shared_disks.py": "the same claim, of tasks that are on machines",
        "firmament/core/state/classes.py": "tells shapes and pins apart",
    },
    "storage_capacity.py": {
        **_WORK,
    },
    "pod_affinity.py": {
        **_WORK,
        **_ENGINE,
        **_ORDER,
        **_PLACER,
        "firmament/core/preemption/victims/covering.py": "who must stay as company",
        "firmament/core/rescheduling/plan_moves.py": "what no network of moves can say",
        "firmament/core/state/classes.py": "tells which classes state a rule",
    },
    "topology_spread.py": _ENGINE,
    "node_ports.py": {
        **_WORK,
        **_PLACER,
        "firmament/core/state/classes.py": "tells which classes state a rule",
    },
    "shared_disks.py": {
        **_WORK,
        **_PLACER,
        "firmament/core/rules/node_volumes.py": "the same claim, as a class states it",
        "firmament/core/state/classes.py": "tells which classes state a rule",
    },
}
"""By the file of a rule, who else names its fields or reasons, and why."""


def about() -> dict[str, set[str]]:
    """By the file of each rule, what it alone is about: fields of tasks and machines, and reasons."""
    found: dict[str, set[str]] = defaultdict(set)
    for node_rule in DEFAULT:
        fields = {*node_rule.reads_of_task, *node_rule.for_machines_with}
        reasons = {f"Reason.{each.name}" for each in node_rule.reasons if hasattr(each, "name")}
        found[type(node_rule).__module__] |= fields | reasons
    for pod_rule in POD_RULES:
        reasons = {f"Reason.{each.name}" for each in pod_rule.called}
        found[type(pod_rule).__module__] |= {*pod_rule.stated_in} | reasons
    cordon = {"tolerations"}  # belongs to taints
    return {
        module.rpartition(".")[2] + ".py": names
        - AMBIGUOUS.keys()
        - (cordon if "taint" not in module else set())
        for module, names in found.items()
    }


def named(file: Path) -> set[str]:
    """Fields and reasons that a module names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id="Reason"), attr=name):
                found.add(f"Reason.{name}")
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
    return found


ABOUT = about()
MODULES = {
    str(file.relative_to(ROOT)): named(file)
    for file in sorted((ROOT / "firmament").rglob("*.py"))
    if not str(file.relative_to(ROOT)).startswith((*SHARED, *VALUES))
}


@pytest.mark.parametrize("rule", ABOUT)
def test_a_rule_is_named_in_its_own_file(rule: str):
    own = f"firmament/core/rules/{rule}"
    others = {name for name, names in MODULES.items() if names & ABOUT[rule] and name != own}
    allowed = ELSEWHERE.get(rule, {}).keys()
    assert others - allowed == set(), "ask the registry, or move it to the rule's file"
    assert allowed - others == set(), "they name it no more: take them off the list"


def test_every_rule_between_tasks_is_known_to_the_table_of_classes():
    """``has_rules`` says of which classes rules are compiled at all."""
    term, selector = TaskTerm("zone", TaskSelector()), TaskSelector()
    values = {
        "ports": HostPort(80),
        "disks": Disk("d"),
        "spread": SpreadRule("zone", selector, 1, required=True),
    }
    for rule in POD_RULES:
        for field in rule.stated_in:
            assert has_rules(TaskClass(**{field: (values.get(field, term),)})), field  # type: ignore[arg-type]
    assert not has_rules(TaskClass())
