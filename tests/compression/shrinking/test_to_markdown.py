"""The report."""

from pathlib import Path

from compression.shrinking.rows_builder import a_result
from quickfit.compression.shrinking.to_markdown import markdown


def test_the_report_has_the_table_the_chart_and_how_to_use_it():
    told = markdown(
        a_result(
            chosen="pruned-50-int8",
            keras_path=Path("out/model.keras"),
            litert_path=Path("out/model.tflite"),
            notes=("A note.",),
        )
    )
    assert "| * | pruned-50-int8 | 94.9 % | -0.1 |" in told
    assert "![accuracy against time](chart.svg)" in told
    assert 'model = keras.saving.load_model("model.keras")' in told
    assert 'run = Runner("model.tflite")' in told
    assert "- A note.\n" in told
    assert "- 94.0 % on samples that nothing has seen\n" in told


def test_names_of_layers_cannot_break_the_page():
    assert "no convolution &lt;here>" in markdown(a_result())


def test_without_a_choice_nothing_is_to_be_used():
    told = markdown(a_result())
    assert "Chosen: nothing." in told
    assert "To use it" not in told
