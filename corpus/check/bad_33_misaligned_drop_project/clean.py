"""Cleaning of the raw folder."""
import os


def readable(path, minimum=50):
    return os.path.getsize(path) >= minimum


def drop_broken(paths):
    good = [p for p in paths if readable(p)]
    if len(good) < len(paths):
        print(f"dropped {len(paths) - len(good)} broken files")
    return good
