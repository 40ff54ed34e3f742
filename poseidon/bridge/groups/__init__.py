"""Handles gangs and topology groups in the bridge: reads their objects, and writes their statuses."""
