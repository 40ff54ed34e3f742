"""Translates pods' rules about nodes and other pods into messages of the protocol."""
