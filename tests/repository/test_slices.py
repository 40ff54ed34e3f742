"""A rule lives in one file: who else names what it alone is about is listed here, and the list only becomes shorter."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from firmament.core.rules.registry import DEFAULT, LIMIT_RULES, POD_RULES

ROOT = Path(__file__).resolve().parents[2]

SHARED = (
    "firmament/wire/",
    "firmament/configuration/",
    "firmament/submit/",
    "firmament/pictures/",
    "firmament/core/intake/",
    "firmament/core/state/",
)
"""What comes in from outside names everything, and so do the tables that keep it."""

VALUES = ("firmament/core/reasons.py", "firmament/core/model.py", "firmament/core/events.py")

AMBIGUOUS = {
    "requests": "also of a problem: how much shapes request",
    "required": "also of a spread rule",
    "spread": "also of a problem: default spread",
    "unschedulable": "also of tasks that wait",
}
"""Fields whose names other values have too: these rules are found by their reasons alone."""

FAMILIES = {
    "gangs": {"min_members", "gang_seconds", "least_room", "was_whole", "disrupted_whole"},
    "tree_groups": {"ruled_gangs", "topology_terms", "NOT_IN_TREE"},
    "pairs": {"pair_terms", "pair_verdict", "find_kinds"},
    "default_spread": {"spread_group", "spread_groups", "SYSTEM_DEFAULTS"},
}
"""Rules that are stated of jobs, by models or in the configuration: what they alone are about."""

ELSEWHERE: dict[str, dict[str, str]] = {
    "tree_groups": {
        "firmament/core/rules/gangs/lifecycle.py": "holds back members beyond the size of a group"
    },
}
"""By the file of a rule, who else names its fields or reasons, and why."""


def about() -> dict[str, set[str]]:
    """By the file of each rule, what it alone is about: fields of tasks and machines, and reasons."""
    found: dict[str, set[str]] = defaultdict(set)
    for node_rule in DEFAULT:
        fields = {*node_rule.reads_of_task, *node_rule.for_machines_with}
        reasons = {f"Reason.{each.name}" for each in node_rule.reasons if hasattr(each, "name")}
        found[_place(node_rule)] |= fields | reasons
    for pod_rule in POD_RULES:
        reasons = {f"Reason.{each.name}" for each in pod_rule.called}
        found[_place(pod_rule)] |= {*pod_rule.stated_in} | reasons
    for limit_rule in LIMIT_RULES:
        found[_place(limit_rule)] |= {*limit_rule.for_tasks_with}
    cordon = {"tolerations"}  # belongs to taints
    found |= FAMILIES
    return {
        rule: names - AMBIGUOUS.keys() - (cordon if "taint" not in rule else set())
        for rule, names in found.items()
    }


def _place(rule: object) -> str:
    """The file of a rule, or its folder if it has one: rules about one thing."""
    return type(rule).__module__.removeprefix("firmament.core.rules.").partition(".")[0]


def named(file: Path) -> set[str]:
    """Fields and reasons that a module names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id="Reason"), attr=name):
                found.add(f"Reason.{name}")
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.alias(name=name):
                found.add(name)
    return found


ABOUT = about()


@cache
def modules() -> dict[str, set[str]]:
    """What each module names that is not about all rules."""
    return {
        str(file.relative_to(ROOT)): named(file)
        for file in sorted((ROOT / "firmament").rglob("*.py"))
        if not str(file.relative_to(ROOT)).startswith((*SHARED, *VALUES))
    }


@pytest.mark.parametrize("rule", ABOUT)
def test_a_rule_is_named_in_its_own_file(rule: str):
    own = (f"firmament/core/rules/{rule}.py", f"firmament/core/rules/{rule}/")
    others = {name for name, names in modules().items() if names & ABOUT[rule] and not name.startswith(own)}
    allowed = ELSEWHERE.get(rule, {}).keys()
    assert others - allowed == set(), "ask the registry, or move it to the rule's file"
    assert allowed - others == set(), "they name it no more: take them off the list"
