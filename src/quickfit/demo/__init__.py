"""The whole story on a small case: a slow script, its verdict, and the fix measured.

`tell_story` tells it. The scripts it runs lie in `scripts/` and know nothing of quickfit.
"""

from quickfit.demo.story import Outcome, tell_story

__all__ = ["Outcome", "tell_story"]
