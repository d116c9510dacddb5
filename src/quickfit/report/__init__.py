"""A diagnosis as people and programs read it: terminal, JSON, Markdown, and a page.

The view model and the JSON dictionary are had from their modules; the names here are what a
command needs. The page is had from `report.page`, which few commands load.
"""

from quickfit.report.to_json import dumps
from quickfit.report.to_markdown import to_markdown
from quickfit.report.to_terminal import write_report

__all__ = ["dumps", "to_markdown", "write_report"]
