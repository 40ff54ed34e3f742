"""Places trees of groups whose members are divided over domains by rules: so many domains, so many members in each."""
