"""The demonstration: real processes, a simulated cluster, an example application, and a summary at the end."""
