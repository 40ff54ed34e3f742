"""Sources of the dashboard's data: a running bridge and solver, manifests, or saved rounds."""
