"""The demonstration: real processes schedule an example application on a simulated cluster, and print a summary."""
