"""What a simulated round is asked about, and how its decisions take effect."""
