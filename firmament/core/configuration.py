"""What a core is configured with: models with weights, rules about machines, and the options of a round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cost_models.group_terms import TopologyModel, plans_groups
from cost_models.interface import CostModel, Needs
from cost_models.pairs import PairModel, knows_pairs
from cost_models.registry import load_model
from cost_models.task_constraints import ConstrainingModel, constrains
from firmament.core.placement.outcome import PassOptions
from firmament.core.rules.registry import NodeRules, default_rules

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class WeightedModel:
    """A cost model and what its points are multiplied by."""

    model: CostModel
    weight: int = 1


@dataclass(frozen=True, slots=True)
class FairShare:
    """Weights of namespaces by name, positive; ``default_weight`` for those that are not named."""

    weights: Mapping[str, float] = field(default_factory=dict)
    default_weight: float = 1.0

    def weight(self, namespace: str) -> float:
        """Weight of a namespace."""
        return self.weights.get(namespace, self.default_weight)


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One default constraint, ``ScheduleAnyway``; with the key `HOSTNAME` each machine is a domain of its own."""

    topology_key: str
    max_skew: int


SYSTEM_DEFAULTS = (SpreadConstraint(HOSTNAME, 3), SpreadConstraint(ZONE, 5))
"""kube-scheduler's, with ``defaultingType: System``."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Most objects of each kind; of jobs there may be as many as of tasks. ``record_bytes``: of one record."""

    tasks: int = 2_000_000
    machines: int = 200_000
    classes: int = 500_000
    records: int = 500_000
    record_bytes: int = 2**20


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """How rounds behave.

    ``seed`` turns the order among machines that cost the same. A task that has been passed over in
    ``reserve_after_rounds`` rounds (others were placed, it fitted nowhere), spread over about ``reserve_after``
    seconds, gets a machine reserved, which stays reserved for at most ``reserve_for_rounds`` rounds and
    ``reserve_for`` seconds. A task whose binding failed waits ``first_backoff`` seconds, then twice as long each
    time, at most ``last_backoff``. A gang that is not whole ``gang_seconds`` after it was decided is given up; with
    ``evict_failed_gangs`` its bound members are told to go.
    Tasks found unschedulable are looked at again ``refresh_seconds`` after the last time if machines have changed
    since, so that the reasons that they were given stay true.
    ``namespace_looks``: work, in looks at machines, that a round takes for one namespace while others wait, and for
    all expensive classes together (see ``queue.budgets``); the default is about a seventh of a second on one core.
    ``by_quality``: of tasks with equal priority, Guaranteed ones come before Burstable and BestEffort ones.
    """

    passes: PassOptions = field(default_factory=PassOptions)
    seed: int = 0
    reserve_after_rounds: int = 8
    reserve_for_rounds: int = 256
    reserve_after: float = 60.0
    reserve_for: float = 300.0
    first_backoff: float = 1.0
    last_backoff: float = 60.0
    namespace_looks: int = 6_000_000
    by_quality: bool = False
    preemption: bool = True
    gang_seconds: float = 600.0
    refresh_seconds: float = math.inf
    evict_failed_gangs: bool = True


def _default_policy() -> WeightedModel:
    return WeightedModel(load_model("cpu_mem", {}))


@dataclass(frozen=True, slots=True)
class CoreConfiguration:
    """Exactly one base policy, any number of overlays; fair shares between namespaces if asked for.

    ``spread``: default constraints for tasks that would rather be apart; ``scarce``: what machines with scarce
    resources cost tasks that do not ask for them; None: nothing. ``quota``: how much there may be in the cluster.
    ``rules``: by which machines are refused to tasks. ``needs``: what at least one of the models or rules looks at.

    The rest follows from these: ``models``, the base policy, then the overlays, then what charges for scarce resources;
    of those ``pair_models``, which know pairs of tasks (rounds follow the first of them), ``constraining_models``,
    which have constraints between tasks, and ``group_model``, which knows how groups share out over a tree of machines.
    """

    policy: WeightedModel = field(default_factory=_default_policy)
    overlays: tuple[WeightedModel, ...] = ()
    options: RoundOptions = field(default_factory=RoundOptions)
    fair_share: FairShare | None = None
    scarce: WeightedModel | None = None
    quota: Quota = field(default_factory=Quota)
    spread: tuple[SpreadConstraint, ...] = ()
    rules: NodeRules = field(default_factory=default_rules)
    needs: Needs = field(init=False)
    models: tuple[WeightedModel, ...] = field(init=False)
    pair_models: tuple[tuple[WeightedModel, PairModel], ...] = field(init=False)
    constraining_models: tuple[ConstrainingModel, ...] = field(init=False)
    group_model: TopologyModel | None = field(init=False)

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
    def words(self) -> list[str]:
        """What drivers have to tell, sorted: what the models need (``Needs.words``), and whose tasks are."""
        own = {"namespaces"} if self.fair_share is not None else set()
        return sorted({*self.needs.words(), *own})
