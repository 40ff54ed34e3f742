"""The repository as a whole: layers, locks, make targets and documents."""
