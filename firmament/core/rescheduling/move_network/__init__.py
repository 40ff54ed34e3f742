"""Which tasks should move so that all cost less: a flow network in which staying is free and moves have a price."""
