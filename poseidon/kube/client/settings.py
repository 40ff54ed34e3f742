"""Loads the API server's address and credentials: from a kubeconfig, or from the pod's service account.

The official package reads the files (contexts, exec plug-ins, rotating tokens); this module converts its result for
an HTTP client. The package is imported only when settings are loaded. The package is not imported for a kubeconfig
that contains only an address of plain HTTP, such as that of a simulated cluster or of ``kubectl proxy``.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

import yaml

from poseidon.kube.client.credentials import Credentials, FollowedCredentials, Loaded
from poseidon.kube.client.errors import SettingsError, one_line
from poseidon.kube.client.proxies import bypasses_proxy
from protos.conventions.missing_parts import INSTALL_BRIDGE
from protos.conventions.secrets import redact_address

if TYPE_CHECKING:
    from kubernetes.client import Configuration

    from poseidon.kube.client.credentials import CredentialSource

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How to reach an API server.

    ``server`` has no trailing slash. ``tls`` is None for plain HTTP. ``credentials`` are read again from time to time,
    because tokens and certificates change and those of plug-ins expire; their ``tls`` replaces this ``tls``.
    """

    server: str
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None
    credentials: CredentialSource | None = None
    proxy: str | None = None


class _Reached(NamedTuple):
    """How to reach a cluster, read from a kubeconfig or a service account. ``proxy`` is None without a proxy."""

    server: str
    loaded: Loaded
    tls_server_name: str | None = None
    proxy: str | None = None


def load_settings(
    kubeconfig: Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    wall: Callable[[], float] = time.time,
) -> ConnectionSettings:
    """Find and read the settings, looking in the same order as kubectl.

    ``kubeconfig`` is read if given; otherwise the files of ``$KUBECONFIG``; otherwise ``~/.kube/config`` if it
    exists; otherwise the service account of this process's pod. ``wall`` returns seconds since the epoch. Raises
    ``SettingsError``.
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
    reached = _load(source, context, where)
    return ConnectionSettings(
        server=reached.server,
        tls=reached.loaded.credentials.tls,
        tls_server_name=reached.tls_server_name,
        credentials=FollowedCredentials(lambda: _load(source, context, where).loaded, reached.loaded, wall),
        proxy=reached.proxy,
    )


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


def _load(source: str | None, context: str | None, where: str) -> _Reached:
    """Read address and credentials, and run plug-ins if the kubeconfig names some. Raises ``SettingsError``."""
    plain = _read_plain_server(source, context) if source else None
    if source and plain:
        server = plain.rstrip("/")
        proxies = getproxies()
        proxy = _choose_proxy(server, proxies.get("http"), proxies.get("no"))
        return _Reached(server, Loaded(Credentials(), [source]), proxy=proxy)
    return _load_officially(source, context, where)


def _read_plain_server(source: str, context: str | None) -> str | None:
    """Return the server of a kubeconfig whose context needs neither TLS nor credentials.

    The result is None for every other file, even if the file is no kubeconfig: the official package reports its
    faults.
    """
    try:
        document = yaml.load(Path(source).read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        chosen = _get_named(document["contexts"], context or document["current-context"])["context"]
        cluster = _get_named(document["clusters"], chosen["cluster"])["cluster"]
        user = _get_named(document["users"], chosen["user"])["user"] if chosen.get("user") else {}
        server = cluster["server"]
        parts = urlsplit(server)
    except (OSError, yaml.YAMLError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None
    alone = not user and cluster.keys() == {"server"}
    return server if alone and parts.scheme == "http" and parts.hostname else None


def _get_named(entries: Any, name: str) -> Any:
    """Return the only entry with the given name.

    Raises ``ValueError`` if the list does not have exactly one entry with this name.
    """
    (found,) = [each for each in entries if each["name"] == name]
    return found


def _load_officially(source: str | None, context: str | None, where: str) -> _Reached:
    """Read the settings with the official package. Raises ``SettingsError``."""
    try:
        from kubernetes.client import Configuration
    except ModuleNotFoundError:
        raise SettingsError(
            f"{where}: reading these credentials needs the Python package kubernetes, which is not installed; "
            f"{INSTALL_BRIDGE}"
        ) from None

    configuration = Configuration()
    try:
        if source:
            files, expires_at = _load_kubeconfig(source, context, configuration)
        else:
            files, expires_at = _load_in_cluster(configuration), None
    except (AttributeError, TypeError, KeyError, IndexError) as error:
        raise SettingsError(
            f"{where}: does not have the shape of a kubeconfig; compare it with what `kubectl config view` prints"
        ) from error
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error
    except Exception as error:
        # Errors of the package's parsers (YAML, base64, types) all mean that the file cannot be read.
        raise SettingsError(f"{where}: {one_line(error)}") from error
    server = str(configuration.host)
    parts = urlsplit(server)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise SettingsError(
            f"{where}: cluster.server: {redact_address(server)!r} is not an http(s) URL; correct it"
        )
    tls, tls_files = None, []
    if parts.scheme == "https":
        tls = _tls_context(configuration, where)
        certificates = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        tls_files = [str(name) for name in certificates if name]
    credentials = Credentials(_authorization(configuration), tls)
    server = server.rstrip("/")
    return _Reached(
        server,
        Loaded(credentials, [*files, *tls_files], tls_files, expires_at),
        configuration.tls_server_name or None,
        _choose_proxy(server, configuration.proxy, configuration.no_proxy),
    )


def _load_kubeconfig(
    source: str, context: str | None, configuration: Configuration
) -> tuple[list[str], float | None]:
    """Fill the configuration from a kubeconfig; return its files, and when its credentials expire."""
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    merger = KubeConfigMerger(source)  # type: ignore[no-untyped-call]  # the package is not annotated
    if merger.config is None:
        raise SettingsError("the file is empty; compare it with what `kubectl config view` prints")
    loader = KubeConfigLoader(merger.config, active_context=context, config_base_path=None)  # type: ignore[no-untyped-call]
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    files = [str(path) for path in merger.paths]
    user, user_file = _user_of(merger.config, loader.current_context)
    if user.get("tokenFile"):
        files.append(str(Path(user_file).parent / user["tokenFile"]))
    if user.get("exec") and not (_authorization(configuration) or configuration.cert_file):
        command = user["exec"].get("command", "")
        raise SettingsError(f"users[].user.exec: {command!r} gave no credentials; run it by hand to see why")
    expiry = getattr(loader, "expiry", None)
    return files, expiry.timestamp() if expiry is not None else None


def _user_of(config: Any, context: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the user of a kubeconfig's context, and the file that defines it."""
    name = context["context"].get("user")
    if not name or not config.safe_get("users"):
        return {}, "."
    user = config["users"].get_with_name(name, safe=True)
    return ({}, ".") if user is None else (user.value.get("user") or {}, user.path or ".")


def _load_in_cluster(configuration: Configuration) -> list[str]:
    """Fill the configuration from the service account of this pod; return the files that were read."""
    from kubernetes.config import incluster_config

    incluster_config.load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]
    return [incluster_config.SERVICE_TOKEN_FILENAME]


def _choose_proxy(server: str, proxy: object, no_proxy: object) -> str | None:
    """Return the proxy for a server; None if the server is reached without a proxy."""
    parts = urlsplit(server)
    port = parts.port or _PORTS[parts.scheme]
    if not proxy or bypasses_proxy(parts.hostname or "", port, str(no_proxy or "")):
        return None
    return str(proxy)


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
        raise SettingsError(f"{where}: certificates cannot be used: {one_line(error)}") from error
    return context


def _authorization(configuration: Configuration) -> str:
    settings: Mapping[str, Any] = configuration.auth_settings()
    bearer = settings.get("BearerToken")
    return str(bearer["value"] or "").strip() if bearer else ""
