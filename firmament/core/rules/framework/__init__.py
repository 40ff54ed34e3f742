"""The parts that all rules are made of. A new rule uses them and changes none."""
