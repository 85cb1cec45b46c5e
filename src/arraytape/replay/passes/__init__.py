"""Passes: functions from a program to another one that computes the same values."""
