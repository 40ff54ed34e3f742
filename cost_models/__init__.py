"""Cost models: plug-ins that say which arcs, at what cost, up to what capacity."""
