"""Default spread: tasks of one group move apart after the flow."""
