"""The core: state, constraints, rounds, questions."""
