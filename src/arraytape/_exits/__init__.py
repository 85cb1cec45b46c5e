"""Untracked conversions: values that left a tape and came back as constants.  See README.md."""
