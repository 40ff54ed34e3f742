"""Where the API server is and how to identify oneself to it: kubeconfig or in-cluster settings.

The official package reads the files (contexts, exec plug-ins, rotating tokens); this module turns its result
into what an HTTP client needs. The package is imported when settings are loaded, not before.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from poseidon.kube.errors import SettingsError

if TYPE_CHECKING:
    from kubernetes.client import Configuration

Authorize = Callable[[], str]
"""Returns the value of the Authorization header, "" for none. May block: it reads files or runs a plug-in."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How to reach an API server.

    ``server`` has no trailing slash. ``tls`` is None for plain HTTP. ``authorize`` is asked again from time
    to time, since in-cluster tokens rotate and plug-in credentials expire.
    """

    server: str
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None
    authorize: Authorize | None = None
    proxy: str | None = None


def load_settings(
    kubeconfig: Path | None = None, context: str | None = None, environ: Mapping[str, str] | None = None
) -> ConnectionSettings:
    """Find and read the settings, in the order of kubectl.

    ``kubeconfig`` if given; else the files of ``$KUBECONFIG``; else ``~/.kube/config`` if it exists; else the
    service account of the pod that this runs in. Raises ``SettingsError``.
    """
    environ = os.environ if environ is None else environ
    source = _find_kubeconfig(kubeconfig, environ)
    if source is None and not environ.get("KUBERNETES_SERVICE_HOST"):
        raise SettingsError(
            "no API server given: pass --kubeconfig FILE, set KUBECONFIG, "
            "or run inside a cluster with a service account"
        )
    if source is None and context is not None:
        raise SettingsError(f"context {context!r}: contexts need a kubeconfig; pass --kubeconfig FILE")
    where = f"kubeconfig {source}" if source else "in-cluster settings"
    return _settings_of(_load_configuration(source, context, where), where)


def _find_kubeconfig(given: Path | None, environ: Mapping[str, str]) -> str | None:
    """Return the kubeconfig path (or several, joined as in the variable), or None for in-cluster settings."""
    if given is not None:
        if not given.is_file():
            raise SettingsError(f"kubeconfig {given}: no such file; pass an existing one with --kubeconfig")
        return str(given)
    listed = environ.get("KUBECONFIG", "")
    if listed:
        if not any(Path(path).expanduser().is_file() for path in listed.split(os.pathsep) if path):
            raise SettingsError(
                f"kubeconfig {listed} (from KUBECONFIG): no such file; correct or unset the variable"
            )
        return listed
    default = Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"
    return str(default) if default.is_file() else None


def _load_configuration(source: str | None, context: str | None, where: str) -> Configuration:
    from kubernetes.client import Configuration
    from kubernetes.config import load_incluster_config, load_kube_config

    configuration = Configuration()
    try:
        if source:
            load_kube_config(  # type: ignore[no-untyped-call]  # the package is not annotated
                source, context=context, client_configuration=configuration, persist_config=False
            )
        else:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (AttributeError, TypeError, KeyError, IndexError) as error:
        raise SettingsError(
            f"{where}: does not have the shape of a kubeconfig; compare it with what `kubectl config view` prints"
        ) from error
    except Exception as error:
        # The package lets errors of its parsers through (YAML, base64, types); all mean the same here.
        raise SettingsError(f"{where}: {_one_line(error)}") from error
    return configuration


def _settings_of(configuration: Configuration, where: str) -> ConnectionSettings:
    server = str(configuration.host).rstrip("/")
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{where}: cluster.server: {server!r} is not an http(s) URL; correct it")
    proxy = configuration.proxy
    if proxy and (
        _is_loopback(parts.hostname) or _bypasses_proxy(parts.hostname, configuration.no_proxy or "")
    ):
        proxy = None
    return ConnectionSettings(
        server=server,
        tls=_tls_context(configuration, where) if parts.scheme == "https" else None,
        tls_server_name=configuration.tls_server_name or None,
        authorize=lambda: _authorization(configuration),
        proxy=proxy or None,
    )


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, which no proxy could reach."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bypasses_proxy(host: str, no_proxy: str) -> bool:
    """Read a no_proxy list as curl does: "*", or host names and the domains below them."""
    names = [name.strip().lstrip(".").lower() for name in no_proxy.split(",")]
    return "*" in names or any(name and (host == name or host.endswith("." + name)) for name in names)


def _tls_context(configuration: Configuration, where: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
        # Cluster authorities often lack extensions that Python >= 3.13 demands by default and kubectl does
        # not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"{where}: certificates cannot be used: {_one_line(error)}") from error
    return context


def _authorization(configuration: Configuration) -> str:
    settings: Mapping[str, Any] = configuration.auth_settings()
    bearer = settings.get("BearerToken")
    return str(bearer["value"] or "").strip() if bearer else ""


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
