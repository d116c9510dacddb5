"""`data.generator`: a user's Python function in background processes or threads."""

from quickfit.data.workers.pipeline import generator

__all__ = ["generator"]
