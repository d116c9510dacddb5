"""`quickfit explain`: the page of a cause, the list of causes, and near names."""

from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import quickfit.causes
from quickfit.cli.explain import explain
from quickfit.errors import UsageError

PAGE = """A `Dataset.map` handles one element at a time.

Fix class: same results.
"""


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    causes = {
        name: SimpleNamespace(name=name, title=title, symptom="slow", page=PAGE)
        for name, title in [
            ("sequential-map", "A map runs on one thread"),
            ("py-generator-input", "A Python generator cannot keep up"),
            ("run-eagerly-on", "The model runs eagerly"),
        ]
    }
    monkeypatch.setattr(quickfit.causes, "catalogue", lambda: causes, raising=False)
    return causes


def test_prints_the_page_of_a_cause(capsys):
    explain("sequential-map")
    assert capsys.readouterr().out == (
        "sequential-map: A map runs on one thread\n"
        "symptom: slow\n"
        "\n"
        "A `Dataset.map` handles one element at a time.\n"
        "\n"
        "Fix class: same results.\n"
    )


@pytest.mark.parametrize("spelling", ["sequential_map", "Sequential-Map", " sequential-map "])
def test_forgives_the_spelling(spelling, capsys):
    explain(spelling)
    assert capsys.readouterr().out.startswith("sequential-map:")


def test_lists_all_causes_with_their_titles(capsys):
    explain(None)
    assert capsys.readouterr().out.splitlines() == [
        "py-generator-input  A Python generator cannot keep up",
        "run-eagerly-on      The model runs eagerly",
        "sequential-map      A map runs on one thread",
        "",
        "For the page of one: quickfit explain CAUSE",
    ]


def test_an_unknown_name_gets_the_nearest_ones():
    with pytest.raises(UsageError) as caught:
        explain("sequental-maps")
    assert str(caught.value) == (
        "'sequental-maps' is not the name of a cause.\n"
        "Did you mean:\n"
        "    quickfit explain sequential-map\n"
        "For the list of all causes:\n"
        "    quickfit explain"
    )


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(UsageError) as caught:
        explain("zzz\x1b[31m")
    assert "Did you mean" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert str(caught.value).endswith("    quickfit explain")


def test_works_as_a_typer_command():
    app = typer.Typer()
    app.command()(explain)
    result = CliRunner().invoke(app, ["run-eagerly-on"])
    assert result.exit_code == 0
    assert result.stdout.startswith("run-eagerly-on: The model runs eagerly")
