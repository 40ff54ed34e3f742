"""Between protocol messages and the core's values: strict on the way in, plain on the way out.

Whatever comes out of ``events.events_from_proto`` is well-formed by itself (names, amounts, operators, lengths).
Whether it fits the cluster (is the class defined, does the machine exist) is for the core to say.
"""
