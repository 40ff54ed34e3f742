"""Answers people's questions: why tasks wait, which machines a task may use, and the state of the cluster."""
