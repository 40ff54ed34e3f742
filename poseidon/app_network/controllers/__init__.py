"""Controllers that follow AppGroups and NetworkTopologies and write what follows from them."""
