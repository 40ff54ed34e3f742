"""Lists all rules, in kube-scheduler's order; other code asks this module for rules, and names none.

To add a rule about machines, write a file with a `NodeRule` and add it to `DEFAULT`. A rule about where other tasks
are is a `PodRule`, listed in `POD_RULES`. A rule about amounts that tasks take together is a `LimitRule`, listed in
`LIMIT_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Ledger, Needs
from firmament.core.changes import ChangedMachine, CureProposal
from firmament.core.constraints.preferences import SoftCost
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import AnyReason, Cause
from firmament.core.rules.devices.cures import propose_for_devices
from firmament.core.rules.devices.rule import DynamicResources
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.limit_rule import LimitRule, RoundDemand
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.framework.pod_rule import PodRule
from firmament.core.rules.framework.rule_counters import ResidentTasks
from firmament.core.rules.framework.task_verdict import AskedTask, TaskVerdict
from firmament.core.rules.image_locality import ImageLocality
from firmament.core.rules.model_constraints import model_constraints
from firmament.core.rules.node_affinity import NodeAffinity
from firmament.core.rules.node_name import NodeName
from firmament.core.rules.node_ports import NodePorts
from firmament.core.rules.node_resources import NodeResources
from firmament.core.rules.node_unschedulable import NodeReady, NodeUnschedulable
from firmament.core.rules.pairs import judge_pairs
from firmament.core.rules.pod_affinity import PodAffinity, name_topology_constraint
from firmament.core.rules.quotas import compilation as quotas
from firmament.core.rules.quotas.rule import Quotas
from firmament.core.rules.taint_toleration import TaintToleration
from firmament.core.rules.topology_spread import TopologySpread
from firmament.core.rules.tree_groups.compilation import list_ruled_members
from firmament.core.rules.tree_groups.explanation import judge_group
from firmament.core.rules.volumes.node_volume_limits import AttachedVolumes
from firmament.core.rules.volumes.node_volumes import NodeDeclaredFeatures, VolumeBinding, VolumeRestrictions
from firmament.core.rules.volumes.shared_disks import SharedDisks
from firmament.core.rules.volumes.storage_capacity import StorageCapacity
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable

DEFAULT: tuple[NodeRule, ...] = (
    NodeName(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeReady(),
    NodeAffinity(),
    NodeResources(),
    VolumeRestrictions(),
    VolumeBinding(),
    NodeDeclaredFeatures(),
    StorageCapacity(),
    ImageLocality(),
)
"""All rules about machines. If several rules refuse a machine to a task, messages name only one: the rule whose
reason has the earliest stage, and among equal stages the earliest in this list. Rules whose answers do not last are
at the end."""


_STATED_BY_ALL = frozenset({"requests"})
"""Fields that nearly every class states."""


def read_fields(fields: Sequence[str]) -> Callable[[TaskClass], tuple[object, ...]]:
    """Return a fast function that returns the values of ``fields`` (at least one) of a class."""
    return attrgetter(*fields, fields[0])  # With one name alone, attrgetter would return no tuple.


class _ConditionalRule:
    """A rule, with the conditions under which it is asked."""

    def __init__(self, rule: NodeRule, fields: Sequence[str]) -> None:
        """``fields``: the rule concerns only tasks that state one of these fields; (): the rule concerns all tasks."""
        self.rule = rule
        self.fields = fields
        self._stated = read_fields(fields) if fields else None
        self._there = frozenset(rule.for_machines_with)

    def is_stated(self, content: TaskClass) -> bool:
        """Return whether a class states any of the fields."""
        return self._stated is not None and any(self._stated(content))

    def concerns(self, machines: MachineTable, shape: TaskClass) -> bool:
        """Return whether the rule must be asked for a shape, by the fields that the rule declares."""
        return self.is_met(machines) and (self._stated is None or any(self._stated(shape)))

    def is_met(self, machines: MachineTable) -> bool:
        """Return whether some machine states a field that the rule declares."""
        return not self._there or not self._there.isdisjoint(machines.stated)


class NodeRules:
    """The rules about machines, in the order in which they are asked."""

    def __init__(self, rules: Sequence[NodeRule]) -> None:
        """Raise ``ValueError`` if two rules have the same name."""
        names = [rule.name for rule in rules]
        if len(set(names)) < len(names):
            raise ValueError(f"two rules have one name: {', '.join(names)}")
        self.rules = tuple(rules)
        self.needs = Needs.merge([*(rule.needs for rule in rules), *(rule.needs for rule in LIMIT_RULES)])
        refusing = [rule for rule in rules if rule.reasons]
        self._lasting = [_ConditionalRule(rule, rule.for_tasks_with) for rule in refusing if rule.lasting]
        self._passing = [_ConditionalRule(rule, rule.for_tasks_with) for rule in refusing if not rule.lasting]
        self._scoring = [
            _ConditionalRule(rule, rule.scores_tasks_with)
            for rule in rules
            if type(rule).score is not NodeRule.score
        ]
        self._scoring_all = [each for each in self._scoring if not each.fields]
        scored = [field for each in self._scoring for field in each.fields]
        self._states_scored = read_fields(scored) if scored else None
        self._costly = [
            _ConditionalRule(rule, (*rule.reads_of_task, *rule.scores_tasks_with))
            for rule in rules
            if type(rule).count_checks is not NodeRule.count_checks
        ]
        by_all = [each for each in self._costly if set(each.fields) <= _STATED_BY_ALL]
        self._costly_for_all = [each.rule for each in by_all]
        others = (each for each in (*self._lasting, *self._costly) if each not in by_all)
        self.stated_fields = tuple(dict.fromkeys(field for each in others for field in each.fields))
        """Fields of tasks that matter to rules. For a class that states none of ``stated_fields``, ``is_choosy`` is
        False and ``count_common_checks`` applies."""
        passing = [field for each in self._passing for field in each.fields]
        always = any(not each.fields for each in self._passing)
        self._may_pass = read_fields(passing) if passing and not always else None
        self._of_reason = {reason: rule for rule in rules for reason in rule.reasons}
        own_keys = [each.rule for each in self._lasting if type(each.rule).key is not NodeRule.key]
        read = {
            field for each in self._lasting if each.rule not in own_keys for field in each.rule.reads_of_task
        }
        self._own_keys = own_keys
        self._read = attrgetter("invalid", *sorted(read))

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:
        """Return a key for caches of lasting refusals: all fields of a shape on which these refusals depend."""
        return self._read(shape), *[rule.key(machines, shape) for rule in self._own_keys]

    def lasting_refusals(self, machines: MachineTable, shape: TaskClass) -> list[MachineRefusal]:
        """Return the refusals that hold while the machines' ``static_version`` stays.

        The refusals are ordered by stage, then as the rules are.
        """
        asked = (each.rule for each in self._lasting if each.concerns(machines, shape))
        found = (each for rule in asked for each in rule.refusals(machines, shape))
        return sorted(found, key=lambda each: each.cause.reason.stage)

    def passing_refusals(self, machines: MachineTable, shape: TaskClass) -> Sequence[MachineRefusal]:
        """Return the refusals of those rules whose answers do not last; these rules are asked in every round."""
        if self._may_pass is not None and not any(self._may_pass(shape)):
            return ()
        asked = [each.rule for each in self._passing if each.concerns(machines, shape)]
        return [refusal for rule in asked for refusal in rule.refusals(machines, shape)]

    def preferences(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:
        """Return the cost of each machine for a shape by what rules prefer; None if no rule scores the shape.

        ``feasible``: bool[M], the machines over which scores are scaled. The following cost nothing: preferences that
        the task does not state, taints and images that no machine has, and capacities that no machine states. A
        preferred term that no machine matches costs the same on all machines.
        """
        states_any = self._states_scored is not None and any(self._states_scored(shape))
        if not states_any and not any(each.is_met(machines) for each in self._scoring_all):
            return None
        asked = [each.rule for each in self._scoring if each.concerns(machines, shape)]
        if not asked:
            return None
        return SoftCost.join([rule.score(machines, shape, feasible) for rule in asked])

    def count_checks(self, content: TaskClass) -> int:
        """Return an estimate, at least 1, of the checks of each machine that a class takes by all it states."""
        checks = sum(each.rule.count_checks(content) for each in self._costly if each.is_stated(content))
        return 1 + checks + count_checks_of_pod_rules(content)

    def count_common_checks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return the estimated checks of each machine for classes that state none of ``stated_fields``: int64[C]."""
        checks = np.ones(len(contents), dtype=np.int64)
        for rule in self._costly_for_all:
            checks += rule.count_common_checks(contents)
        return checks

    def is_choosy(self, content: TaskClass) -> bool:
        """Return whether a class states a field for which lasting rules refuse machines."""
        return any(each.is_stated(content) for each in self._lasting)

    def rule_of(self, reason: AnyReason) -> NodeRule | None:
        """Return the rule about machines that refuses machines for a reason; None if no such rule does."""
        return self._of_reason.get(reason)

    def as_new(self, machine: Machine) -> Machine:
        """Return a machine as if it had just been added, without state of its own (not cordoned, for example)."""
        for rule in self.rules:
            machine = rule.as_new(machine)
        return machine

    def binds_running(self, cause: Cause) -> bool:
        """Return whether a refusal for ``cause`` also concerns tasks that already run on the machine."""
        rule = self.rule_of(cause.reason)
        return rule is None or rule.binds_running


_CHECKING = [
    _ConditionalRule(rule, rule.reads_of_task)
    for rule in DEFAULT
    if type(rule).find_malformed is not NodeRule.find_malformed
]


def find_malformed(content: TaskClass) -> str:
    """Return the first error that a rule finds in what a class states; "" for none."""
    found = (each.rule.find_malformed(content) for each in _CHECKING if each.is_stated(content))
    return next(filter(None, found), "")


def default_rules() -> NodeRules:
    """Return the rules of `DEFAULT`."""
    return NodeRules(DEFAULT)


# --- Rules about amounts that tasks take together.

LIMIT_RULES: tuple[LimitRule, ...] = (AttachedVolumes(), Quotas(), DynamicResources())


def list_limiting(shapes: Iterable[TaskClass]) -> list[LimitRule]:
    """Return the rules that limit some of the shapes."""
    if not LIMIT_RULES:
        return []
    stated = [(rule, [attrgetter(field) for field in rule.for_tasks_with]) for rule in LIMIT_RULES]
    given = list(shapes)
    # A round may have thousands of shapes: ``any`` and ``map`` are faster than loops.
    return [rule for rule, fields in stated if any(any(map(get, given)) for get in fields)]


def is_limited(shape: TaskClass) -> bool:
    """Return whether some rule limits the amounts that tasks of a shape take together with others."""
    return bool(list_limiting([shape]))


def limit_amounts(cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
    """Return what machines offer in a round, int64[M, K'], and the joint rows that limit it.

    ``free``: int64[M, K], what machines have left; rules may add columns.
    """
    found: list[JointRows] = []
    for rule in list_limiting(cluster.classes.shapes[shape] for shape in demand.shapes):
        free, rows = rule.limit(cluster, demand, free)
        found += rows
    return free, found


def find_quotas(cluster: Cluster, demand: RoundDemand) -> QuotaTerms | None:
    """Return the quotas that tasks of a round's shapes use; None if they use none."""
    asked = list_limiting(cluster.classes.shapes[shape] for shape in demand.shapes)
    return next((terms for rule in asked if (terms := rule.find_quotas(cluster, demand)) is not None), None)


def list_drawing(cluster: Cluster) -> list[int]:
    """Return the rows of the classes whose tasks use quotas, ascending."""
    return cluster.classes.list_stating(Quotas.for_tasks_with)


def number_draws(cluster: Cluster, terms: QuotaTerms, classes: Sequence[int]) -> Int64:
    """Return the number in ``terms`` of what a task of each class (row) takes of quotas: int64[N]; -1 for nothing."""
    return quotas.number_draws(cluster, terms, classes)


def limit_anew(cluster: Cluster, demand: RoundDemand) -> list[JointRows]:
    """Return the present joint rows of the rules that are asked again when a round is closed after changes."""
    asked = list_limiting(cluster.classes.shapes[shape] for shape in demand.shapes)
    free = cluster.free_beside(np.empty(0, dtype=np.int64))
    return [rows for rule in asked if rule.asked_again for rows in rule.limit(cluster, demand, free)[1]]


def keep_ledgers(cluster: Cluster, demand: RoundDemand) -> tuple[Ledger, ...]:
    """Return the ledgers that rules keep for a round, in the order of the rules."""
    asked = list_limiting(cluster.classes.shapes[shape] for shape in demand.shapes)
    found = (rule.keep_ledger(cluster, demand) for rule in asked)
    return tuple([ledger for ledger in found if ledger is not None])


# --- Rules between tasks.

POD_RULES: tuple[PodRule, ...] = (PodAffinity(), TopologySpread(), NodePorts(), SharedDisks())
"""Cures are proposed in the order of `POD_RULES`, whereas reasons are ordered by their stages."""

_STATING = [(rule, read_fields(rule.stated_in)) for rule in POD_RULES]
_STATED = tuple(field for rule in POD_RULES for field in rule.stated_in)
_STATES_ANY = read_fields(_STATED)
_CALLED: dict[AnyReason, str] = {reason: words for rule in POD_RULES for reason, words in rule.called.items()}


def list_ruled(cluster: Cluster) -> list[int]:
    """Return the rows of the classes that state a rule about other tasks, ascending."""
    return cluster.classes.list_stating(_STATED)


def list_stating_rules(cluster: Cluster, rules: NodeRules) -> list[int]:
    """Return the rows of the classes that state more than requests: a rule about machines or other tasks; ascending."""
    return cluster.classes.list_stating((*rules.stated_fields, *_STATED))


def _list_stated(content: TaskClass) -> list[PodRule]:
    if not any(_STATES_ANY(content)):
        return []
    return [rule for rule, stated in _STATING if any(stated(content))]


def count_checks_of_pod_rules(content: TaskClass) -> int:
    """Return an estimate of the checks of each machine that a class's rules about other tasks take in a round."""
    return sum(rule.count_checks(content) for rule in _list_stated(content))


def count_pairing(content: TaskClass) -> int:
    """Return how many terms of a class need extra work for each waiting class that they select."""
    return sum(rule.count_pairing(content) for rule in _list_stated(content))


def prefers_company(content: TaskClass) -> bool:
    """Return whether a class has a preference about where other tasks are."""
    return any(rule.states_preference(content) for rule in POD_RULES)


def constraint_behind(reason: AnyReason) -> str:
    """Return the name in messages of the constraint behind a reason; "" if no rule between tasks has this reason."""
    return _CALLED.get(reason, "")


def name_constraints_of_gang(contents: Iterable[TaskClass], job: str) -> Mapping[str, str]:
    """Return the names of a gang's own constraints.

    The keys are the names that ``constraint_behind`` returns for the gang's constraints.

    ``contents``: the classes of the gang's tasks; ``job``: its id. Constraints whose names stay the same are left
    out.
    """
    return name_topology_constraint(contents, job)


def drop_constraints(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures of one change each: a constraint about other tasks is widened or dropped, or device claims change."""
    for rule in POD_RULES:
        yield from rule.cures(standing)
    yield from propose_for_devices(standing)


def list_helped_by_labels(cluster: Cluster, waiting: Int64) -> Int64:
    """Return the tasks in ``waiting`` (rows) that new machine labels may help even if no machine's refusals change."""
    return list_ruled_members(cluster, waiting)


def judge_task(asked: AskedTask) -> list[TaskVerdict]:
    """Return the verdicts on one task by models that look at several tasks together: groups over a tree, and pairs."""
    return [each for judge in (judge_group, judge_pairs) for each in judge(asked)]


def compile_rules(cluster: Cluster, waiting: Sequence[int], *, without: int = -1) -> RuleSet:
    """Return the rules between tasks for the waiting classes (``waiting[c]``: class row of problem class c).

    ``without``: row of a task that is not counted on its machine; -1 for none.
    """
    if not len(cluster.machines):
        return NO_RULES
    modelled = model_constraints(cluster, waiting, without=without) if cluster.constraining_models else ()
    rules = _compile_counted(cluster, waiting, without)
    if not modelled:
        return rules
    of = dict(rules.of)
    for cls in range(len(waiting)):
        if any(each.involves(cls) for each in modelled):
            of[cls] = replace(rules.rules(cls), modelled=True)
    return replace(rules, of=of, modelled=modelled)


def _compile_counted(cluster: Cluster, waiting: Sequence[int], without: int) -> RuleSet:
    """Return the rules of `POD_RULES` for the waiting classes; all of these rules are conditions on counters."""
    stating = list_ruled(cluster)
    if not stating:
        return NO_RULES
    residents = ResidentTasks(cluster, without=without)
    present = {*waiting, *residents.classes.tolist()}
    ruled = [row for row in stating if row in present]
    if not ruled:
        return NO_RULES
    compilation = Compilation(cluster, waiting, residents, ruled)
    for rule in POD_RULES:
        rule.compile(compilation)
    rules = compilation.finish()
    return rules if rules.of else NO_RULES
