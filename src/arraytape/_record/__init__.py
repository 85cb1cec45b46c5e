"""Recording: recorders and modes on stacks, ops, records and their layouts (plans)."""
