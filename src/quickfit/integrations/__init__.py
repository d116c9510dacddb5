"""quickfit inside other programs: a script or a notebook that watches itself."""

from quickfit.integrations.watch import Watch

__all__ = ["Watch"]
