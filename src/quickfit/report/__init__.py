"""A diagnosis as people and programs read it: `view`, `to_terminal`, `to_json`.

The view model and the JSON dictionary are had from their modules; the two names here
are what a command needs.
"""

from quickfit.report.to_json import dumps
from quickfit.report.to_terminal import write_report

__all__ = ["dumps", "write_report"]
