"""Reads workload files: by name from the harness's folder, or by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from benchmarks.declarative.expressions import (
    Evaluator,
    ExpressionError,
    Scope,
    compile_expression,
    whole_number,
)
from benchmarks.declarative.schema import Amount, Measure, Op, WorkloadFile
from benchmarks.declarative.templates import BUILT_IN, Template, TemplateError, compile_template
from protos.configuration.error_messages import explain_error

FOLDER = Path(__file__).resolve().parents[1] / "workloads"


class WorkloadError(ValueError):
    """A workload that cannot be used. ``lines``: one per defect, with file, field, fault and remedy."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload with its parameters set and its templates compiled."""

    file: WorkloadFile
    params: Mapping[str, int]
    templates: Mapping[str, Template]
    seed: int = 1

    @property
    def name(self) -> str:
        """The workload's name."""
        return self.file.name

    def amount(self, amount: Amount) -> int:
        """Return the number that an op states, at least 0."""
        if isinstance(amount, int):
            return max(0, amount)
        value = _amount_expression(amount, frozenset(self.params))(Scope({"index": 0, **self.params}))
        return max(0, whole_number(value, amount))


def available() -> list[str]:
    """Return the names of the workloads that come with the harness."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_workload(
    name: str, *, size: str | None = None, params: Mapping[str, int] | None = None, seed: int = 1
) -> Workload:
    """Read a workload by name or path and set parameters: its defaults, then those of ``size``, then ``params``.

    Raises ``WorkloadError``.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.exists():
        raise WorkloadError(
            [f"{name}: no such workload; known: {', '.join(available())}, or give a .yaml file"]
        )
    file = _parse(path)
    given = dict(params or {})
    unknown = sorted(set(given) - set(file.params))
    if unknown:
        raise WorkloadError(
            [f"{path.name}: no parameter {key!r}; known: {', '.join(sorted(file.params))}" for key in unknown]
        )
    if size is not None and size not in file.sizes:
        known = ", ".join(sorted(file.sizes)) or "none"
        raise WorkloadError([f"{path.name}: no size {size!r}; known: {known}"])
    values = {**file.params, **(file.sizes[size] if size else {}), **given}
    templates, defects = _templates(path, file)
    defects += _op_defects(path, file)
    if defects:
        raise WorkloadError(defects)
    return Workload(file, values, templates, seed)


def _parse(path: Path) -> WorkloadFile:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise WorkloadError([f"{path.name}: not YAML: {' '.join(str(error).split())}"]) from None
    try:
        return WorkloadFile.model_validate(content)
    except ValidationError as error:
        raise WorkloadError(
            [f"{path.name}: {explain_error(fault, WorkloadFile)}" for fault in error.errors()]
        ) from None


def _templates(path: Path, file: WorkloadFile) -> tuple[dict[str, Template], list[str]]:
    names = frozenset(file.params)
    defects = [
        f"{path.name}: params.{name}: reserved; choose another name than {', '.join(sorted(BUILT_IN))}"
        for name in sorted(names & (BUILT_IN - {"nodes"}))
    ]
    for size, values in file.sizes.items():
        defects += [
            f"{path.name}: sizes.{size}.{name}: not among params; add it there"
            for name in sorted(set(values) - names)
        ]
    templates = {}
    for name, manifest in file.templates.items():
        try:
            templates[name] = compile_template(manifest, names)
        except TemplateError as error:
            defects.append(f"{path.name}: templates.{name}: {error}")
    return templates, defects


def _op_defects(path: Path, file: WorkloadFile) -> Iterator[str]:
    """Yield faults for templates and numbers that ops name and that do not exist."""
    names = frozenset(file.params)
    for place, op in _flatten(file.ops, "ops"):
        step = op.step
        for field in ("count", "times", "rate"):
            amount = getattr(step, field, None)
            if isinstance(amount, str):
                try:
                    _amount_expression(amount, names)
                except ExpressionError as error:
                    yield f"{path.name}: {place}.{field}: {error}"
        for name in template_names(getattr(step, "template", [])):
            if name not in file.templates:
                known = ", ".join(sorted(file.templates))
                yield f"{path.name}: {place}.template: no template {name!r}; known: {known}"


def template_names(given: str | Sequence[str]) -> list[str]:
    """Return one or several template names as a list."""
    return [given] if isinstance(given, str) else list(given)


def _flatten(ops: Sequence[Op], place: str) -> Iterator[tuple[str, Op]]:
    for number, op in enumerate(ops):
        yield f"{place}[{number}]", op
        if isinstance(op.step, Measure):
            yield from _flatten(op.step.ops, f"{place}[{number}].measure.ops")


def _amount_expression(text: str, names: frozenset[str]) -> Evaluator:
    return compile_expression(text.replace("$", ""), names | {"index"})
