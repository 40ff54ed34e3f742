"""Holds the configuration of a core: models with weights, rules about machines, and the options of a round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cost_models.group_terms import TopologyModel, plans_groups
from cost_models.interface import CostModel, Needs
from cost_models.pairs import PairModel, knows_pairs
from cost_models.registry import load_model
from cost_models.task_constraints import ConstrainingModel, constrains
from firmament.core import defaults
from firmament.core.placement.outcome import PassOptions
from firmament.core.rules.default_spread import SpreadConstraint
from firmament.core.rules.registry import NodeRules, default_rules


@dataclass(frozen=True, slots=True)
class WeightedModel:
    """A cost model, and the weight by which its points are multiplied."""

    model: CostModel
    weight: int = 1


@dataclass(frozen=True, slots=True)
class FairShare:
    """Positive weights of namespaces by name; ``default_weight`` applies to all other namespaces."""

    weights: Mapping[str, float] = field(default_factory=dict)
    default_weight: float = defaults.SHARE_WEIGHT

    def weight(self, namespace: str) -> float:
        """Return the weight of a namespace."""
        return self.weights.get(namespace, self.default_weight)


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most objects of each kind; the limit on tasks also applies to jobs.

    ``record_bytes``: the most bytes of one record.
    """

    tasks: int = defaults.MOST_TASKS
    machines: int = defaults.MOST_MACHINES
    classes: int = defaults.MOST_CLASSES
    records: int = defaults.MOST_RECORDS
    record_bytes: int = defaults.MOST_RECORD_BYTES


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """Options of rounds."""

    passes: PassOptions = field(default_factory=PassOptions)
    """Options of the passes of a round."""
    seed: int = defaults.SEED
    """Seed of the order among machines of equal cost."""
    reserve_after_rounds: int = defaults.RESERVE_AFTER_ROUNDS
    """If this many rounds have placed other tasks while a task fitted nowhere, a machine is reserved for the task."""
    reserve_for_rounds: int = defaults.RESERVE_FOR_ROUNDS
    """Number of rounds after which a reservation ends."""
    reserve_after: float = defaults.RESERVE_AFTER
    """Approximate seconds for which rounds must have passed over a task before a machine is reserved for it."""
    reserve_for: float = defaults.RESERVE_FOR
    """Seconds after which a reservation ends."""
    first_backoff: float = defaults.FIRST_BACKOFF
    """Seconds that a task waits after its first failed binding; the time doubles after each further failure."""
    last_backoff: float = defaults.LAST_BACKOFF
    """The most seconds that a task waits after a failed binding."""
    namespace_checks: int = 6_000_000
    """Work, counted in checks of single machines, that a round does for one namespace while others wait, and for all
    expensive classes together (see ``queue.work_budgets``). The default work takes about a seventh of a second on one
    core.
    """
    class_checks: int = 10_000
    """The part of ``namespace_checks`` that each class takes, however many machines there are."""
    by_quality: bool = False
    """Whether, among tasks of equal priority, Guaranteed ones come before Burstable and BestEffort ones."""
    preemption: bool = True
    """Whether a round may evict tasks to place others."""
    gang_seconds: float = 600.0
    """Seconds within which a placed gang must be complete; otherwise the solver gives it up."""
    refresh_seconds: float = math.inf
    """Seconds after which unschedulable tasks are tried again if machines have changed, so that their reasons stay
    correct.
    """
    evict_failed_gangs: bool = True
    """Whether the solver evicts the bound members of a gang that it gives up."""
    tells_why: bool = True
    """Whether rounds say why tasks wait, and how quotas are used; decisions do not depend on this option."""


def _default_policy() -> WeightedModel:
    return WeightedModel(load_model("cpu_mem", {}))


@dataclass(frozen=True, slots=True)
class CoreConfiguration:
    """The configuration of rounds: one base policy, any number of overlays, and rules."""

    policy: WeightedModel = field(default_factory=_default_policy)
    """The base policy."""
    overlays: tuple[WeightedModel, ...] = ()
    """Further cost models, whose costs are added."""
    options: RoundOptions = field(default_factory=RoundOptions)
    """Options of rounds."""
    fair_share: FairShare | None = None
    """Fair shares between namespaces; None if namespaces have no shares."""
    scarce: WeightedModel | None = None
    """The model that charges tasks on machines with scarce resources that they do not request.

    None if no model charges for scarce resources.
    """
    limits: SizeLimits = field(default_factory=SizeLimits)
    """Limits on the size of the cluster."""
    spread: tuple[SpreadConstraint, ...] = ()
    """Default topology spread constraints, for tasks that prefer to run apart."""
    rules: NodeRules = field(default_factory=default_rules)
    """The rules by which machines are refused."""
    profiles: Mapping[str, CoreConfiguration] = field(default_factory=dict)
    """Configurations by name of profile, for the tasks that name this profile; these configurations have no profiles
    of their own."""
    needs: Needs = field(init=False)
    """What all models and rules together need, without the models of profiles."""
    models: tuple[WeightedModel, ...] = field(init=False)
    """The base policy, the overlays, and ``scarce``, in this order."""
    pair_models: tuple[tuple[WeightedModel, PairModel], ...] = field(init=False)
    """Models with costs for pairs of tasks; rounds use the first."""
    constraining_models: tuple[ConstrainingModel, ...] = field(init=False)
    """Models with constraints between tasks."""
    group_model: TopologyModel | None = field(init=False)
    """The model that knows how groups are distributed over a tree of machines; None if there is no such model."""

    def __post_init__(self) -> None:
        models = (self.policy, *self.overlays, *(() if self.scarce is None else (self.scarce,)))
        derived = {
            "models": models,
            "needs": Needs.merge([*(each.model.needs for each in models), self.rules.needs]),
            "pair_models": tuple((each, each.model) for each in models if knows_pairs(each.model)),
            "constraining_models": tuple(each.model for each in models if constrains(each.model)),
            "group_model": next((each.model for each in models if plans_groups(each.model)), None),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def all_needs(self) -> Needs:
        """What all models and rules together need, including the models of profiles."""
        if not self.profiles:
            return self.needs
        return Needs.merge([self.needs, *(each.needs for each in self.profiles.values())])

    @property
    def words(self) -> list[str]:
        """Return what drivers must report, sorted: needs of models (``Needs.words``), namespaces, names of profiles."""
        own = {"namespaces"} if self.fair_share is not None else set()
        return sorted({*self.all_needs.words(), *own, *(f"profiles:{name}" for name in self.profiles)})
