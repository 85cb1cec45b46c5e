"""What several test modules use that is too large for a fixture: tables, strategies, checks."""
