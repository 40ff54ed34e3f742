"""What all rules are made of: what a rule is, and what it is compiled into. A new rule uses these, and changes none."""
