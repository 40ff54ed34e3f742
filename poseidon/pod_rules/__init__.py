"""Rules of pods about nodes and other pods, in the terms of the protocol."""
