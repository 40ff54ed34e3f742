"""Decides who may reach the server: addresses, certificates, precedence among drivers, options of connections."""
