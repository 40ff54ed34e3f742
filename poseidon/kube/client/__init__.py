"""Connections to an API server: HTTP, credentials, proxies, typed errors."""
