"""Profiles that other tools wrote become recordings, so that one report and one page show them."""

from quickfit.profiles.importing import import_profile

__all__ = ["import_profile"]
