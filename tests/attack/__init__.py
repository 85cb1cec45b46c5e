"""Attacks: what is meant to break the promises of docs/explanation/reliability.md, drawn from seeds.

An attack turns a seed into some cases, checks a promise on each, and raises AssertionError with a script
that shows what it found.  Short runs are tests; long ones are ``make soak``.
"""
