"""Conventions of both programs besides the protocol: configuration, logs, errors of commands, probes and the like."""
