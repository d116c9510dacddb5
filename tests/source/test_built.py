"""The line that builds the model which a `fit` trains."""

import pytest

from quickfit.source.built import line_that_builds


@pytest.mark.parametrize(
    ("text", "fit", "builds"),
    [
        pytest.param(
            "for r in s:\n    model = build()\n    model.compile()\n    model.fit(x)\n", 4, 2,
            id="in the loop",
        ),
        pytest.param("def go(r):\n    m = build(r)\n    m.fit(x)\n", 3, 2, id="in a function"),
        pytest.param(
            "def go(m):\n    m.fit(x)\nfor r in s:\n    n = build(r)\n    go(n)\n", 2, 4,
            id="handed over",
        ),
        pytest.param(
            "def go(m):\n    m.fit(x)\nfor r in s:\n    go(build(r))\n", 2, 4,
            id="built in the call",
        ),
        pytest.param(
            "class T:\n    def go(self):\n        self.m = build()\n        self.m.fit(x)\n", 4, 3,
            id="an attribute",
        ),
        pytest.param("model = build()\nfor r in s:\n    model.fit(x)\n", 3, None, id="one model"),
        pytest.param("def go(m):\n    m.fit(x)\ngo(a)\ngo(b)\n", 2, None, id="two callers"),
        pytest.param("for r in:\n", 1, None, id="broken"),
    ],
)  # fmt: skip
def test_the_line_is_found_where_it_runs_again(text, fit, builds):
    assert line_that_builds(text, fit) == builds
