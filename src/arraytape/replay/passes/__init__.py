"""Passes: functions from a program to a faster program with the same results, apart from last bits."""
