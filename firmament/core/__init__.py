"""The scheduling core: events in, round results out. No I/O, no clock of its own."""
