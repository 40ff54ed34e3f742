"""The list of what is in a release (SBOM), as CycloneDX 1.6 in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Component(NamedTuple):
    """A package of the Python index at one version; ``hashes`` are of the files that may stand for it."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{re.sub(r'[-_.]+', '-', self.name).lower()}@{self.version}"


def read_lock(text: str) -> list[Component]:
    """Return what a lock file pins."""
    parts = re.split(r"\n(?=\S)", text)
    found = []
    for part in parts:
        pin = _PIN.match(part)
        if pin:
            found.append(Component(pin[1], pin[2], tuple(_HASH.findall(part))))
    return found


def list_components(name: str, version: str, moment: str, needed: Mapping[str, Iterable[Component]]) -> str:
    """Return the list for a release of ``moment`` (RFC 3339); ``needed``: by parts of it, what they need."""
    own = Component(name, version)
    parts = {each.address: each for components in needed.values() for each in components}
    users: dict[str, list[str]] = {}
    for part, components in needed.items():
        for each in components:
            users.setdefault(each.address, []).append(part)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps([own.address, sorted(parts)]))}",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {**_describe(own), "type": "application", "licenses": [_license("Apache-2.0")]},
        },
        "components": [
            {
                **_describe(each),
                "properties": [
                    {"name": "poseidon-firmament:part", "value": part} for part in sorted(users[address])
                ],
            }
            for address, each in sorted(parts.items())
        ],
        "dependencies": [{"ref": own.address, "dependsOn": sorted(parts)}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _describe(component: Component) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.address,
        "name": component.name,
        "version": component.version,
        "purl": component.address,
    }
    licence = _find_licence(component.name)
    if licence:
        found["licenses"] = [_license(licence)]
    if component.hashes:
        # Each of these files may be installed, by system and Python version: none of them is *the* component.
        found["externalReferences"] = [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{component.name}/{component.version}/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in sorted(component.hashes)],
            }
        ]
    return found


def _find_licence(name: str) -> str:
    """Return the licence expression that an installed package states, "" if it states none in short."""
    try:
        stated = metadata(name)
    except PackageNotFoundError:
        return ""
    text = str(stated.get("License-Expression") or "")
    return text if len(text) < 100 else ""


def _license(expression: str) -> dict[str, Any]:
    return {"expression": expression}
