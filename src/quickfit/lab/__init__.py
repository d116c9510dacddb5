"""Measuring: children, a sandbox for trials, turns, statistics, budgets, and the verdict on a gain.

It knows no cause and no command. Nothing is imported here: part of `sandbox` runs inside the user's
process, which must load nothing that the script does not load anyway.
"""
