"""From pods to tasks and task classes."""
