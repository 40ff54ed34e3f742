"""What would become of tasks that run, if machines were emptied: tried with real rounds, and taken back."""
