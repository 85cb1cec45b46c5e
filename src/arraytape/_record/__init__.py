"""What is recorded, and where: the stack of recorders, ops, plans and records."""
