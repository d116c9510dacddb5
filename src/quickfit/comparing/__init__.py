"""Two trainings side by side: recordings, or revisions of a script that are run in turns."""
