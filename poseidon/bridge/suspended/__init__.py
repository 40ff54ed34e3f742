"""Objects in queues that own pods, and are resumed and suspended here."""
