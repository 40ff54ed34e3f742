"""Objects of other projects: Kueue, Volcano, KAI, Grove, Koordinator, diktyo-io and the like."""
