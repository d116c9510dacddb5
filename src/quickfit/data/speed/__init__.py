"""How fast an input pipeline is, where its time goes, and what the machine would allow."""

from quickfit.data.speed.figures import Speed
from quickfit.data.speed.measuring import measure

__all__ = ["Speed", "measure"]
