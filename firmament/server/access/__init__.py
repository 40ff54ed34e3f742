"""Decides who may reach the server: addresses, certificates, fencing, options of connections."""
