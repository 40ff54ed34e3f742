"""Groups of pods in the bridge: gangs and topology groups, from their objects to their statuses."""
