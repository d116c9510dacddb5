"""A run where runs are logged, read back with the readers of those who read it."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from quickfit import exporting
from quickfit.cli.main import app
from quickfit.errors import UsageError
from quickfit.exporting import export
from quickfit.exporting.series import figures_of, series_of
from quickfit.integrations.watch import _RunLog

from launch.sessions import eventually
from report.builders import full_diagnosis
from report.pages import diagnosis_of, hostile_run, unpack

SCHEMAS = Path(__file__).parent.parent / "schemas"
NAME = "variants/combined.validation_callback"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return unpack(NAME, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    found = diagnosis_of(NAME, tmp_path_factory.mktemp("seen"))
    # Kept recordings do not say when they were made.
    return replace(found, details=replace(found.details, started_at=1.7e9))


def same(read, points):
    """Tell whether steps and values that were read are those of a series, as 32-bit numbers."""
    steps = [step for step, _ in read] == [point.step for point in points]
    return steps and [v for _, v in read] == pytest.approx([p.value for p in points], rel=1e-6)


# -- what is exported -----------------------------------------------------------------------------


def test_steps_count_on_over_all_loops_and_memory_has_its_parts(seen):
    series = series_of(seen)
    steps = [point.step for point in series["quickfit/step_s"]]
    assert steps == sorted(steps)
    assert steps[-1] == seen.details.steps
    parts = [series[name] for name in series if name.startswith("quickfit/memory/")]
    for number, point in enumerate(series["quickfit/memory_bytes"]):
        held = [part[number].value for part in parts]
        assert sum(held) == pytest.approx(point.value, rel=1e-6)


def test_what_was_logged_before_a_moment_is_left_out(seen):
    half_s = seen.details.total_s / 2
    later = series_of(seen, after_s=half_s)["quickfit/step_s"]
    assert 0 < len(later) < len(series_of(seen)["quickfit/step_s"])
    assert all(point.at_s > seen.details.started_at + half_s for point in later)


def test_figures_are_those_of_the_account_and_the_findings(seen):
    figures = figures_of(seen)
    assert figures["quickfit/run_s"] == seen.details.total_s
    assert figures["quickfit/median_step_s"] == seen.breakdown.step_s
    for finding in seen.findings:
        share = figures[f"quickfit/finding/{finding.cause}/cost_share"]
        assert share == finding.cost_share
    steps_s = sum(node.seconds for node in seen.account.walk() if node.name == "step")
    assert figures["quickfit/time/step_s"] == pytest.approx(steps_s)


# -- TensorBoard ----------------------------------------------------------------------------------


def test_tensorboard_reads_series_figures_and_the_report(seen, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "logs"
    for _ in range(2):  # the second one replaces the first
        assert "tensorboard --logdir" in export(seen, "tensorboard", str(folder))
    assert len(list(folder.iterdir())) == 1
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    for name, points in series_of(seen).items():
        read = [(event.step, event.value) for event in events.Scalars(name)]
        assert same(read, points)
    first = events.Scalars("quickfit/step_s")[0]
    assert first.wall_time == pytest.approx(series_of(seen)["quickfit/step_s"][0].at_s)
    for name, value in figures_of(seen).items():
        assert events.Scalars(name)[0].value == pytest.approx(value, rel=1e-6)
    (text,) = events.Tensors("quickfit/report")
    assert text.tensor_proto.string_val[0].startswith(b"### quickfit: ")


# -- Perfetto -------------------------------------------------------------------------------------


def read_trace(file):
    trace = json.loads(file.read_text())
    schema = json.loads((SCHEMAS / "trace-events.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(trace)
    return trace


def test_a_trace_has_steps_epochs_memory_and_findings(seen, tmp_path):
    file = tmp_path / "a.json"
    assert "ui.perfetto.dev" in export(seen, "perfetto", str(file))
    events = read_trace(file)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    steps = [span for span in spans if span["cat"] == "steps"]
    assert len(steps) == len(seen.details.points)
    assert sum(span["dur"] for span in steps) == pytest.approx(
        sum(1e6 * (point.end_s - point.begin_s) for point in seen.details.points), rel=1e-6
    )
    found = {span["name"]: span["args"] for span in spans if span["cat"] == "findings"}
    assert list(found) == [finding.cause for finding in seen.findings]
    assert {span["cat"] for span in spans} >= {"loop", "epoch", "steps", "validation"}
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {"step time (ms)", "memory (MB)"}
    assert max(span["ts"] + span["dur"] for span in spans) <= 1e6 * seen.details.total_s + 1


def test_spans_of_a_track_lie_inside_each_other_or_apart(seen, tmp_path):
    export(seen, "perfetto", str(tmp_path / "a.json"))
    tracks = {}
    for event in read_trace(tmp_path / "a.json")["traceEvents"]:
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in tracks.values():
        open_until = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= begin + 0.5:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.5
            open_until.append(end)


def test_a_hostile_recording_is_a_valid_trace(tmp_path):
    from quickfit.diagnosis import diagnose

    export(diagnose(hostile_run(tmp_path), with_details=True), "perfetto", str(tmp_path / "a"))
    assert "\x1b" not in json.dumps(read_trace(tmp_path / "a"), ensure_ascii=False)


def test_a_file_that_is_no_trace_of_ours_is_kept(seen, tmp_path):
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(UsageError, match="no trace of quickfit; nothing was changed"):
        export(seen, "perfetto", str(tmp_path / "a.json"))
    assert (tmp_path / "a.json").read_text() == "mine"
    export(seen, "perfetto", str(tmp_path / "a.json"), replaces=True)
    export(seen, "perfetto", str(tmp_path / "a.json"))


# -- MLflow ---------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch):
    # Databases need the whole of MLflow; the small one that is installed here has folders.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    return (tmp_path / "mlruns").as_uri()


def test_mlflow_reads_metrics_tags_and_the_report(seen, store):
    mlflow = pytest.importorskip("mlflow", reason="needs the extra quickfit[mlflow]")
    assert export(seen, "mlflow", store).startswith("MLflow, run ")
    client = mlflow.MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("quickfit")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.tags["quickfit.verdict"] == seen.verdict
    history = client.get_metric_history(run.info.run_id, "quickfit/step_s")
    read = sorted((metric.step, metric.value) for metric in history)
    assert same(read, series_of(seen)["quickfit/step_s"])
    assert run.data.metrics["quickfit/run_s"] == seen.details.total_s
    (report,) = client.list_artifacts(run.info.run_id)
    assert report.path == "quickfit-report.md"


def test_what_mlflow_does_not_take_is_said(seen, tmp_path):
    pytest.importorskip("mlflow", reason="needs the extra quickfit[mlflow]")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="MLflow does not take the run: "):
        export(seen, "mlflow", f"nowhere://{tmp_path}")


# -- Weights & Biases -----------------------------------------------------------------------------


def records_of(file):
    """Yield what a file of W&B holds: its records lie in blocks, as in a log of LevelDB."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, parts = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


def test_wandb_is_offline_and_has_series_and_summary(seen, tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="needs the extra quickfit[wandb]")
    monkeypatch.setenv("WANDB_MODE", "online")  # ours stays offline whatever is set
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert "wandb sync" in export(seen, "wandb", str(tmp_path))
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    # A process of W&B's writes the last of it after the run has ended.
    eventually(lambda: [*records_of(file)][-1].HasField("exit"), "the end of the file")
    rows, summary = [], {}
    for record in records_of(file):
        if record.HasField("history"):
            rows.append(
                {
                    "/".join(item.nested_key) or item.key: json.loads(item.value_json)
                    for item in record.history.item
                }
            )
        for item in record.summary.update:
            key = "/".join(item.nested_key) or item.key
            summary[key] = json.loads(item.value_json)
    read = [
        (row["quickfit/step"], row["quickfit/step_s"]) for row in rows if "quickfit/step_s" in row
    ]
    assert same(read, series_of(seen)["quickfit/step_s"])
    assert summary["quickfit/run_s"] == seen.details.total_s


# -- the command, and `Watch` ---------------------------------------------------------------------


def test_the_command_writes_a_trace_of_the_newest_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".quickfit").mkdir()
    (tmp_path / ".quickfit" / "runs").symlink_to(run.parent)
    result = CliRunner().invoke(app(), ["export", "--to", "perfetto"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("exported: run.perfetto.json; to look at it: ")
    read_trace(tmp_path / "run.perfetto.json")


def test_a_destination_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'quickfit\[wandb\]'"):
        exporting.destination_of("wandb")
    assert exporting.destination_of("perfetto").package == ""
    with pytest.raises(UsageError, match="One of these is expected: tensorboard, mlflow"):
        exporting.destination_of("excel")


def test_a_recording_without_a_clock_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is nothing to export"):
        export(replace(full_diagnosis(), details=None), "perfetto", str(tmp_path / "a"))


def test_what_a_watch_cannot_log_is_said_and_ends_nothing(run, tmp_path, capsys):
    log = _RunLog([f"perfetto:{tmp_path}/no/a.json", f"perfetto:{tmp_path}/b.json"])
    log.write(run)
    assert "the run was not logged to perfetto (UsageError: " in capsys.readouterr().err
    read_trace(tmp_path / "b.json")
