"""``plan``, ``explain`` and ``audit``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from poseidon.api.errors import input_errors
from poseidon.api.reading import Config, Model, read_or_take
from poseidon.api.results import AuditResult, ExplainResult, PlanResult

HOT: Mapping[str, float] = MappingProxyType({"cpu": 80.0, "memory": 90.0})
"""From which percent of use on a node is hot."""


def plan(
    *objects: Any,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    scheduler_names: Iterable[str] = (),
    move_cost: float | None = None,
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> PlanResult:
    """Say which waiting pods would be bound to which nodes, and why the others would wait.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        scheduler_names: schedule only pods of these ``spec.schedulerName``; none: all that wait.
        move_cost: also say which running pods should move, if each saves so many points; None: none moves.
    """
    from poseidon.offline.plan import make_plan

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = read_or_take(objects, options)
    with input_errors():
        made = make_plan(
            cluster.manifests, cluster.configuration, cluster.now, frozenset(scheduler_names), move_cost
        )
    return PlanResult.of_plan(made, unseen)


def explain(
    *objects: Any,
    pod: str,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> ExplainResult:
    """Say for one pod and every node: feasible or why not, what each model charges, and what would help.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used, and
    ``UnknownPodError`` for a pod that is not in it.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        pod: ``NAMESPACE/NAME``; a bare name is in namespace ``default``.
    """
    from poseidon.offline.explain import explain_pod

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = read_or_take(objects, options)
    name = pod if "/" in pod else f"default/{pod}"
    with input_errors():
        explained = explain_pod(cluster.manifests, cluster.configuration, cluster.now, name)
    return ExplainResult.of_explanation(explained, unseen)


def audit(
    *objects: Any,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    tries: int = 500,
    most_moves: int | None = None,
    move_cost: float = 20.0,
    hot: Mapping[str, float] = HOT,
    local_data_may_go: bool = False,
    note: Callable[[str], None] = lambda _: None,
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> AuditResult:
    """Say which nodes moves could free, which hold too much, which pods wait and what would place them.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        tries: how often a choice of nodes is tried, each by rounds of the solver.
        most_moves: how many pods may move; None: any number.
        move_cost: points that a move has to save to be worth it.
        hot: by resource, from which percent of measured use a node is hot.
        local_data_may_go: move pods with emptyDir or hostPath volumes, too.
        note: is told what is being done, for people who wait.
    """
    from poseidon.offline.audit.make_audit import make_audit

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = read_or_take(objects, options)
    with input_errors():
        made = make_audit(
            cluster.manifests,
            cluster.configuration,
            cluster.now,
            tries=tries,
            budget=most_moves,
            move_cost=move_cost,
            hot=hot,
            local_data_may_go=local_data_may_go,
            note=note,
        )
    return AuditResult.of_audit(made, unseen)
