"""Runs a script as if quickfit were not there, watches it, and ends as it ended.

The parent half starts at `quickfit.launch.parent` (`run`, `observe`) with a
`quickfit.launch.target.Target`. The child half is `quickfit.launch.child`: it is imported
inside someone's training, so this file imports nothing.
"""
