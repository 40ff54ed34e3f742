"""The schema of workload files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Amount = int | str
"""A whole number, or an expression over the parameters, such as ``$pods`` or ``nodes * 2``."""

Names = Annotated[list[str], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class CreateNodes(_Strict):
    """Create nodes from the templates in turn; they are named ``node-00000`` on unless a template names them."""

    count: Amount
    template: str | Names


class CreateObjects(_Strict):
    """Create objects of other kinds (claims, volumes, priority classes, ...) from the templates in turn."""

    count: Amount = 1
    template: str | Names
    group: str = "objects"
    namespace: str = "bench"


class CreatePods(_Strict):
    """Create pods of a group from the templates in turn, all at once or ``rate`` per second.

    With ``random``, the template of each pod is drawn instead.
    """

    count: Amount
    template: str | Names
    group: str = "pods"
    namespace: str = "bench"
    rate: Amount | None = None
    random: bool = False


class DeletePods(_Strict):
    """Delete the oldest pods of a group, all if no count is given."""

    group: str = "pods"
    count: Amount | None = None


class Churn(_Strict):
    """Repeat: delete the oldest ``count`` pods of a group, create as many, and wait until all are settled."""

    count: Amount
    times: Amount
    template: str | Names
    group: str = "pods"
    namespace: str = "bench"


class Barrier(_Strict):
    """Wait until every pod is bound or reported as fitting on no node."""


class Measure(_Strict):
    """Measure the ops within, and a barrier after them, as one figure with this name."""

    name: str = "measured"
    ops: Annotated[list[Op], Field(min_length=1)]


class Op(_Strict):
    """One step: exactly one of these keys."""

    create_nodes: CreateNodes | None = None
    create_objects: CreateObjects | None = None
    create_pods: CreatePods | None = None
    delete_pods: DeletePods | None = None
    churn: Churn | None = None
    barrier: Barrier | None = None
    measure: Measure | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Op:
        if len(self.model_fields_set) != 1 or self.step is None:
            known = ", ".join(to_camel(name) for name in type(self).model_fields)
            raise ValueError(f"an op has exactly one of the keys {known}")
        return self

    @property
    def step(
        self,
    ) -> CreateNodes | CreateObjects | CreatePods | DeletePods | Churn | Barrier | Measure | None:
        """The operation that this step of a workload names."""
        (name,) = self.model_fields_set
        found = getattr(self, name)
        assert found is None or isinstance(found, _Strict)
        return found  # type: ignore[return-value]  # the fields hold nothing else


class Reference(_Strict):
    """A figure of another scheduler on the same shape, and its source."""

    pods_per_second: float
    what: str
    source: str


class Scheduling(_Strict):
    """The solver's configuration, as in its own file."""

    policy: dict[str, Any] | None = None
    cost_models: list[dict[str, Any]] = []


class WorkloadFile(_Strict):
    """A workload: parameters, sizes that set some of them, templates by name, ops."""

    kind: Literal["Workload"] = "Workload"
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    description: str
    params: dict[Annotated[str, Field(pattern=r"^[A-Za-z]\w*$")], int]
    sizes: dict[str, dict[str, int]] = {}
    templates: dict[str, dict[str, Any]]
    ops: Annotated[list[Op], Field(min_length=1)]
    reference: Reference | None = None
    scheduling: Scheduling | None = None
