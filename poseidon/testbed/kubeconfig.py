"""Writes the kubeconfig with which kubectl and other clients find the simulated cluster."""

from __future__ import annotations

from pathlib import Path

import yaml

_NAME = "simulated"


def kubeconfig(url: str, token: str | None = None) -> str:
    """Return the text of a kubeconfig for the cluster at ``url``.

    The kubeconfig tells clients not to verify the certificate.

    kubectl and client-go send tokens only over HTTPS, so they cannot use a cluster with a token over HTTP.
    """
    cluster: dict[str, object] = {"server": url}
    if url.startswith("https:"):
        cluster["insecure-skip-tls-verify"] = True
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": {"token": token} if token else {}}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
        "current-context": _NAME,
    }
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text


def write_kubeconfig(path: Path, url: str, token: str | None = None) -> None:
    """Write the kubeconfig to ``path``; only its owner may read the file, because it may hold a token."""
    path.touch(mode=0o600)
    path.write_text(kubeconfig(url, token))
