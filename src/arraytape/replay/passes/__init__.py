"""Passes: functions that return a faster program which computes the same values, up to last bits."""
