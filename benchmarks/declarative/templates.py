"""Compiles templates: Kubernetes manifests with ``$name`` and ``${expression}`` in their texts.

A scalar that is ``={expression}`` as a whole becomes a number. ``$$`` stands for a dollar sign. A template is compiled
once, to pieces of JSON text, so that a hundred thousand objects cost a second and not a minute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.declarative.expressions import Evaluator, ExpressionError, Scope, compile_expression

BUILT_IN = frozenset({"index", "name", "namespace", "node", "nodes"})
"""Names that every template knows besides the workload's parameters.

``index`` counts the objects of a group from 0; ``node`` is the name of the node of that index, round robin; ``nodes``
how many nodes there are.
"""

CLUSTER_SCOPED = frozenset(
    {
        *("Node", "PersistentVolume", "StorageClass", "PriorityClass", "CSIDriver", "CSINode", "Namespace"),
        *("DeviceClass", "ResourceSlice"),
    }
)

_MARK = re.compile(r'"=\{([^{}"]*)\}"|\$(?:(\$)|\{([^{}"]*)\}|([A-Za-z]\w*))')


class TemplateError(ValueError):
    """A template that cannot be used; the message says why."""


class Manifest(NamedTuple):
    """An object to create; ``raw`` is its JSON. ``namespace`` is empty for cluster-scoped kinds."""

    kind: str
    namespace: str
    name: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled manifest. ``pieces`` alternate between JSON text and evaluators."""

    kind: str
    name: tuple[str | Evaluator, ...]
    namespace: tuple[str | Evaluator, ...]
    pieces: tuple[str | Evaluator, ...]

    def instantiate(self, scope: Scope, *, name: str, namespace: str) -> Manifest:
        """Return the object in ``scope``, which gains ``name`` and ``namespace``: those of the manifest, else the
        given ones.
        """
        values = scope.values
        if self.kind in CLUSTER_SCOPED:
            values["namespace"] = ""
        else:
            values["namespace"] = _render(self.namespace, scope) if self.namespace else namespace
        values["name"] = _render(self.name, scope) if self.name else name
        if scope.node_names:
            values["node"] = scope.node(int(values["index"]))
        raw = _render(self.pieces, scope)
        return Manifest(self.kind, str(values["namespace"]), str(values["name"]), raw.encode())


def compile_template(manifest: Mapping[str, Any], parameters: frozenset[str]) -> Template:
    """Compile a manifest; raises ``TemplateError``. ``parameters``: names that the workload defines."""
    kind = manifest.get("kind")
    if not isinstance(kind, str) or not isinstance(manifest.get("apiVersion"), str):
        raise TemplateError("kind and apiVersion: missing; a template is a Kubernetes manifest")
    metadata = manifest.get("metadata", {})
    if not isinstance(metadata, dict):
        raise TemplateError("metadata: not a mapping")
    names = parameters | BUILT_IN
    own_name, own_namespace = str(metadata.get("name", "")), str(metadata.get("namespace", ""))
    filled = {**manifest, "metadata": {**metadata, "name": "${name}"}}
    if kind not in CLUSTER_SCOPED:
        filled["metadata"]["namespace"] = "${namespace}"
    if kind == "Pod":
        spec = manifest.get("spec")
        if not isinstance(spec, dict):
            raise TemplateError("spec: missing; a pod needs one")
        filled["spec"] = {"schedulerName": "poseidon", **spec}
    return Template(
        kind=kind,
        name=_pieces(_quote(own_name), names - {"name"}) if own_name else (),
        namespace=_pieces(_quote(own_namespace), names - {"name", "namespace"}) if own_namespace else (),
        pieces=_pieces(json.dumps(filled), names),
    )


def _quote(text: str) -> str:
    return json.dumps(text)[1:-1]


def _pieces(text: str, names: frozenset[str]) -> tuple[str | Evaluator, ...]:
    """Split JSON text at its expressions; return text and evaluators in turn."""
    pieces: list[str | Evaluator] = []
    end = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[end : mark.start()])
        number, dollar, expression, name = mark.groups()
        if dollar:
            pieces.append("$")
        else:
            source = next(each for each in (number, expression, name) if each is not None)
            try:
                pieces.append(compile_expression(source, names))
            except ExpressionError as error:
                raise TemplateError(f"{mark[0].strip(chr(34))}: {error}") from None
        end = mark.end()
    pieces.append(text[end:])
    return tuple(piece for piece in pieces if piece != "")


def _render(pieces: tuple[str | Evaluator, ...], scope: Scope) -> str:
    return "".join(piece if isinstance(piece, str) else str(piece(scope)) for piece in pieces)
