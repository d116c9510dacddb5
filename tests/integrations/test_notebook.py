"""The magics in a real kernel: what a cell shows, while it runs and at its end."""

import itertools
import re
import sqlite3
from datetime import datetime

import nbformat
import pytest
from nbclient import NotebookClient

from quickfit.findings import Location
from quickfit.integrations import notebook
from quickfit.integrations.live_reports import write_live_report
from quickfit.integrations.notebook import _LiveOutput
from quickfit.report.page.small import render_small, render_status

from report.builders import full_diagnosis
from report.pages import HOSTILE, hostile_run, unpack

LOAD = "%load_ext quickfit\nimport keras, numpy as np, tensorflow as tf, time"
DATA = """\
def decode(i):
    for _ in tf.range(300):
        i = tf.math.sin(i) + tf.cast(i, tf.float32)
    return tf.fill([16], i), tf.zeros([1])

ds = tf.data.Dataset.range(4000).map(lambda i: tf.cast(i, tf.float32))
ds = ds.map(decode)
ds = ds.batch(16)"""
MODEL = "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')"
CLASS = """\
class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)"""
WATCHED = """\
%%quickfit
print("begin")
history = model.fit(ds, epochs=1, verbose=0, callbacks=[Slow()])
len(history.history["loss"])"""
CALLBACK = (
    "import quickfit\n_ = model.fit(ds.take(40), verbose=0, callbacks=[Slow(), quickfit.Watch()])"
)
CELLS = [
    *(LOAD, DATA, MODEL, CLASS, WATCHED, "%quickfit report", CALLBACK),
    *("%%quickfit\nx = 1\n1 / 0", "%quickfit nonsense", "%%quickfit now\nx = 2", "x"),
]


class Recorded(NotebookClient):
    """Keeps the moments at which outputs change."""

    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] == "update_display_data":
            self.updates.append((cell_index, msg))
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Run a notebook with everything in it, in one kernel."""
    folder = tmp_path_factory.mktemp("notebook")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    client = Recorded(
        book, timeout=300, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.updates = []
    client.execute()
    return book.cells, client.updates


def drawn(cell):
    """Return HTML and text of what a cell displays."""
    (data,) = [each.data for each in cell.outputs if "text/html" in each.get("data", {})]
    return data["text/html"], data["text/plain"]


@pytest.mark.tf
def test_a_watched_cell_ends_with_its_report_and_keeps_its_own_output(shown):
    cell = shown[0][4]
    # TensorFlow writes to stderr when it sees fit.
    report, printed, value = [each for each in cell.outputs if each.get("name") != "stderr"]
    assert report.output_type == "display_data"
    assert printed.text == "begin\n"
    assert value.data["text/plain"] == "1"
    html, text = drawn(cell)
    assert "\nverdict " in text
    assert "running for" not in html + text
    assert 'class="quickfit-report"' in html


@pytest.mark.tf
def test_places_are_cells_and_lines_also_of_cells_that_ran_before(shown):
    html, text = drawn(shown[0][4])
    for said in (html, " ".join(text.split())):
        assert "cell 5, line 3" in said  # fit, below the magic
        assert "cell 4, line 3" in said  # the callback that sleeps
    assert "callback-batch-slow" in text
    assert not re.search(r"ipykernel_|/tmp/|Made before quickfit", html + text)


@pytest.mark.tf
def test_the_output_changes_at_most_twice_a_second_while_the_cell_runs(shown):
    mine = [msg for index, msg in shown[1] if index == 4]
    lines = [msg["content"]["data"]["text/plain"] for msg in mine]
    assert any("running for" in msg["content"]["data"]["text/html"] for msg in mine)
    assert any("step" in line for line in lines[:-1])
    moments = [_moment(msg) for msg in mine[:-1]]
    between = [(b - a).total_seconds() for a, b in itertools.pairwise(moments)]
    assert all(gap_s > 0.45 for gap_s in between)


def _moment(msg):
    date = msg["header"]["date"]
    return date if isinstance(date, datetime) else datetime.fromisoformat(date)


@pytest.mark.tf
def test_the_report_can_be_shown_again(shown):
    html, _ = drawn(shown[0][5])
    assert "cell 5, line 3" in html


@pytest.mark.tf
def test_a_callback_draws_its_report_below_its_cell(shown):
    html, text = drawn(shown[0][6])
    assert "callback-batch-slow" in html
    assert "cell 7, line 2" in text


@pytest.mark.tf
def test_an_error_looks_as_it_does_without_the_magic(shown):
    cell = shown[0][7]
    (error,) = [each for each in cell.outputs if each.output_type == "error"]
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    assert error.ename == "ZeroDivisionError"
    assert "line 3" in trace
    assert "----> 3 1 / 0" in trace
    assert "notebook.py" not in trace


@pytest.mark.tf
def test_what_the_magic_does_not_know_is_one_clear_message(shown):
    nonsense, argument, after = shown[0][8:]
    assert "%quickfit knows one command: report.\nReceived: nonsense\n" in nonsense.outputs[0].text
    assert "%%quickfit takes no arguments.\nReceived: now\n" in argument.outputs[0].text
    assert after.outputs[0].data["text/plain"] == "1"  # the refused cell was not run


# -- what is drawn --------------------------------------------------------------------------------


def test_the_small_page_says_what_the_report_says_without_script_frame_or_address():
    html = render_small(full_diagnosis())
    assert not re.search(r"<script|<iframe|https?://|\son\w+=|<link|@import|url\(", html)
    for finding in full_diagnosis().findings:
        assert finding.cause in html
    assert html.count("<details") >= 1
    assert re.fullmatch(r"<div class=\"quickfit-report\">.*</div>", html, re.S)


def test_every_rule_of_the_style_is_for_the_report_alone():
    style = re.search(r"<style>(.*?)</style>", render_status("x"), re.S)[1]
    selectors = [one for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",")]
    assert selectors
    assert all(one.strip().startswith(".quickfit-report") for one in selectors)


def test_a_hostile_recording_shows_its_text_and_runs_nothing(tmp_path):
    from quickfit.diagnosis import diagnose

    html = render_small(diagnose(hostile_run(tmp_path), with_details=True), status=HOSTILE)
    assert "<img" not in html
    assert "<script" not in html
    assert "onerror=window" not in re.sub(r"&[^;]+;", "", html) or "&lt;img" in html


def test_a_place_in_a_cell_is_said_as_one_looks_for_it():
    assert Location("/x/ipykernel_1/2.py", 5, cell="cell 3").short == "cell 3, line 5"


# -- the live output ------------------------------------------------------------------------------


class Handle:
    def __init__(self):
        self.shown = []

    def update(self, shown):
        self.shown.append(shown)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_line_says_how_far_it_is_and_the_report_so_far_stands_below(tmp_path, monkeypatch):
    clock, handle, steps = Clock(), Handle(), iter(range(0, 4000, 10))
    monkeypatch.setattr(notebook.session, "progress_inside", lambda folder: (next(steps), 1))
    live = _LiveOutput(tmp_path, clock)
    live._handle = handle
    for number in range(400):
        clock.now += 0.5
        if number == 200:
            run = unpack("variants/combined.validation_callback", tmp_path)
            write_live_report(run, live._reports)
        live._update()
    assert len(handle.shown) == 400
    line, last = handle.shown[100], handle.shown[-1]
    assert line.report is None
    assert re.fullmatch(r"running for 3 min \d+ s, step 3,990, epoch 1, 5\d ms a step", last.status)
    html = last._repr_html_()
    assert last.status in html
    assert "validation-dominates" in html
    assert notebook.STATUS_MARK not in html
    assert "\nverdict " in repr(last)
    live.stop()
    assert not live._reports.parent.exists()


def test_a_recording_without_a_step_has_no_report_so_far(tmp_path):
    run = unpack("variants/combined.validation_callback", tmp_path)
    for file in run.glob("*.sqlite"):
        db = sqlite3.connect(file)
        for table in ("steps", "step_blocks", "loops", "epochs"):
            db.execute(f"DELETE FROM {table}")
        db.commit()
        db.close()
    write_live_report(run, tmp_path / "report.json")
    assert not (tmp_path / "report.json").exists()


def test_a_display_that_fails_is_said_and_ends_the_changes(tmp_path, monkeypatch):
    handle = Handle()
    monkeypatch.setattr(notebook, "UPDATE_EVERY_S", 0.0)

    def fail(folder):
        raise RuntimeError("odd")

    monkeypatch.setattr(notebook.session, "progress_inside", fail)
    live = _LiveOutput(tmp_path)
    live._handle = handle
    live._follow()
    live.stop()
    assert handle.shown[-1].status == "no live report (RuntimeError: odd)"
