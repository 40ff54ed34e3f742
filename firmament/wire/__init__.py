"""Translates between protocol messages and the core's values, and checks messages strictly as it decodes them.

Each event that ``events.events_from_proto`` returns is well-formed (names, amounts, operators, lengths). The core
checks whether the event fits the cluster, for example whether its class is defined and its machine exists.
"""
