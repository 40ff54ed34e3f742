"""When rounds run: as soon as there is work that could succeed, one after another."""
