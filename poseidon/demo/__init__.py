"""The demonstration: real processes, a simulated cluster, an example application, and figures at the end."""
