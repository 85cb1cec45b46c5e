"""What left a tape and came back as a constant: see README.md."""
