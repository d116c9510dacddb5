"""What runs inside a trial: a short run of the user's script that can harm nothing of theirs.

The script is run with edited files in the place of its own, with seeded random numbers, and
with everything it writes kept in a scratch folder. `setup` begins it, before the script.
"""
