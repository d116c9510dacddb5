"""What a generator over image files gives, as far as a pipeline must give the same."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from quickfit.fixes.image_values import Value


@dataclass
class Plan:
    """What a generator gives.

    Args:
        prelude: statements that stay as they are, in front of the pipeline.
        given: what one item gives: a picture and what belongs to it.
        batch_size: the code of the batch size; None where single items are given.
        drops: whether an incomplete batch is left out.
        is_endless: whether it begins again and again.
        carries: whether the rest of one round goes into the first batch of the next.
        shuffles: the conditions of the shuffles of each round, with their lines.
        origins: the lines of the loops and of the `yield`.
    """

    prelude: list[ast.stmt] = field(default_factory=list)
    given: tuple[Value, ...] = ()
    batch_size: ast.expr | None = None
    drops: bool = False
    is_endless: bool = False
    carries: bool = False
    shuffles: list[tuple[str, int]] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)
