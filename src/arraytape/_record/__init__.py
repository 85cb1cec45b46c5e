"""Recording of op calls: the stacks of recorders and modes, the class of ops, records, and plans."""
