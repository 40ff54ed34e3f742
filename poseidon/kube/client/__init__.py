"""Connects to an API server: HTTP, credentials, proxies and typed errors."""
