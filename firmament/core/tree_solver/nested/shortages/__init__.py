"""Why trees of groups have no places."""
