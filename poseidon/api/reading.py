"""Reads a cluster from files, texts, dictionaries and objects of Kubernetes clients."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from poseidon.api.client_objects import as_plain, is_from_cluster, is_object
from poseidon.api.errors import InputError
from poseidon.api.models import UseModel, add_models, check_answers, name_classes
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import check_configuration, load_configuration
from poseidon.manifests.documents import Given, GivenObject, GivenText
from poseidon.manifests.loader import ManifestError, Manifests, load_manifests
from protos.configuration.file import ConfigurationError, read_document
from protos.configuration.sections import API_VERSION, KIND
from protos.conventions.number_formats import format_count

Model = type | UseModel
Config = str | Path | Mapping[str, Any] | None

_DEEPEST_LIST = 50
_ENDLESS = "contains itself, or is nested too deeply; give each part of it once"


@dataclass(frozen=True, slots=True, repr=False)
class ReadCluster:
    """A cluster for ``plan``, ``explain`` and ``audit``: the objects that were read, the configuration and the time."""

    manifests: Manifests
    """The objects of the cluster."""
    configuration: BridgeConfiguration
    """Both parts of the configuration, for the bridge and for the solver."""
    now: float
    """The time at which pods are scheduled, in seconds since the epoch."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines of text about parts of the input that are doubtful but usable."""
        return (*_find_missing_nodes(self.manifests), *self.manifests.warnings)

    def __repr__(self) -> str:
        nodes, pods = len(self.manifests.nodes), len(self.manifests.pods)
        return f"<ReadCluster: {format_count(nodes, 'node')}, {format_count(pods, 'pod')}>"


def read(
    *objects: Any,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> ReadCluster:
    """Read a cluster once for several calls of ``plan``, ``explain`` and ``audit``.

    Raises ``InputError`` with all defects together.

    Args:
        objects: in any mixture: paths of files and folders (``str`` without a line break, or ``Path``), YAML or JSON
            text (``str`` or ``bytes``), objects and Lists as dictionaries, models and lists of the ``kubernetes``
            client, and lists of all these. ``plan``, ``explain`` and ``audit`` accept the same arguments.
        config: the configuration of both programs: a path, or the file's content as a dictionary.
        models: classes of cost models to use beside the configuration's, or ``UseModel`` for a weight and arguments.
        now: the time at which pods are scheduled, the present time by default.
        kustomize: folders of kustomizations, which are built to get further objects.
        strict: whether an object given twice with different contents is an error; otherwise the last one counts.
    """
    return read_given(
        _list_given(objects, ""), config=config, models=models, now=now, kustomize=kustomize, strict=strict
    )


def read_given(
    given: Iterable[Given],
    *,
    config: Config,
    models: Iterable[Model] | Model = (),
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> ReadCluster:
    """Read a cluster from paths, texts or objects, as ``read`` does."""
    lines: list[str] = []
    configuration: BridgeConfiguration | None = None
    manifests: Manifests | None = None
    try:
        configuration = _configure(config, models)
    except (ConfigurationError, InputError) as error:
        lines.extend(error.lines)
    try:
        manifests = load_manifests(given, [str(each) for each in kustomize], strict=strict)
    except (ManifestError, InputError) as error:
        lines.extend(error.lines)
    if configuration is None or manifests is None:
        raise InputError(lines)
    return ReadCluster(manifests, configuration, _as_seconds(now))


def get_cluster(objects: Sequence[Any], options: Mapping[str, Any]) -> tuple[ReadCluster, tuple[str, ...]]:
    """Return a cluster that was read before or is read now, and the warnings of reading it now."""
    if len(objects) == 1 and isinstance(objects[0], ReadCluster):
        if any(each not in (None, (), False) for each in options.values()):
            raise TypeError(
                "this cluster was read before; pass config, models, now, kustomize and strict to read()"
            )
        return objects[0], ()
    cluster = read(*objects, **options)
    return cluster, cluster.warnings


def _configure(config: Config, models: Iterable[Model] | Model) -> BridgeConfiguration:
    used = name_classes(models)
    if isinstance(config, Mapping) or (config is None and used):
        where, document = "config", {"apiVersion": API_VERSION, "kind": KIND, **(config or {})}
    elif config is None or not used:
        return load_configuration(None if config is None else Path(config))
    else:
        where, document = str(config), read_document(Path(config))
    classes = {name: check_answers(each.model) for name, each in used.items()}
    return check_configuration(add_models(document, used), where, classes)


def _list_given(objects: Iterable[Any], where: str) -> Iterator[Given]:
    """Yield the input in the loader's types; ``where`` is the position of a list in the input, "" at the top."""
    for number, each in enumerate(objects, 1):
        place = f"{where}[{number}]" if where else f"input {number}"
        if place.count("[") > _DEEPEST_LIST:
            raise InputError([f"input: {_ENDLESS}"])
        if isinstance(each, bytes):
            yield GivenText(place, each.decode("utf-8", errors="replace"))
        elif isinstance(each, str):
            yield GivenText(place, each) if _is_text(each) else each
        elif isinstance(each, Path):
            yield str(each)
        elif is_object(each):
            yield GivenObject(place, _read_object(each, place), held=is_from_cluster(each))
        elif isinstance(each, Iterable):
            yield from _list_given(each, place)
        else:
            what = "give paths, YAML text, dictionaries or objects of the kubernetes client"
            raise InputError([f"{place}: {type(each).__name__} is nothing that can be read; {what}"])


def _read_object(given: Any, place: str) -> Any:
    try:
        return as_plain(given)
    except RecursionError:
        raise InputError([f"{place}: {_ENDLESS}"]) from None


def _is_text(given: str) -> bool:
    """Return whether a string is the text of an object and not the name of a file."""
    return "\n" in given or "\0" in given or given.lstrip().startswith("{") or ": " in given


def _as_seconds(now: float | datetime | None) -> float:
    """Return a time in seconds since the epoch, the present time by default; a time without a zone counts as UTC."""
    if isinstance(now, datetime):
        return (now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()
    return time.time() if now is None else float(now)


def _find_missing_nodes(manifests: Manifests) -> Iterator[str]:
    """Yield a line if the input contains no nodes although it needs some.

    Without nodes, no pod can be placed. Input that only contains objects for models needs no nodes.
    """
    if not manifests.nodes and (manifests.pods or not manifests.for_models):
        what = (
            "holds no nodes, so that no pod gets a place"
            if manifests.pods
            else "holds neither nodes nor pods"
        )
        remedy = "add those of a cluster (`kubectl get nodes -o yaml > nodes.yaml`), or assume some (--add-nodes 3)"
        yield f"the input {what}; {remedy}"
