"""Defines objects of other projects: Kueue, Volcano, KAI, Grove, Koordinator, diktyo-io and others."""
