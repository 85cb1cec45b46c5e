"""Recording: the stack of recorders and modes, the class of ops, plans and records."""
