"""The programs that people copy run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from launch.sessions import clean_env

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]
EXAMPLES = Path(__file__).parents[1] / "examples"
ENV = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
SAID = {
    "images": ("<images: 96 JPEG in 2 classes", "val_accuracy"),
    "packing": ("120 images", "<records: 120 images in 2 classes", "accuracy"),
    "custom_loop": ("training loop", "custom_loop.py"),
    "tuning": ("samples/s", "16 bits"),
}


def test_every_program_is_listed_and_run():
    programs = {path.name for path in EXAMPLES.glob("*") if path.suffix in (".py", ".ipynb")}
    assert programs == {*(f"{name}.py" for name in SAID), "_photographs.py", "notebook.ipynb"}
    readme = (EXAMPLES / "README.md").read_text()
    assert all(name in readme for name in programs - {"_photographs.py"})


@pytest.mark.parametrize("name", SAID)
def test_a_program_runs(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env=clean_env(**ENV, TMPDIR=str(tmp_path), PYTHONPATH=str(EXAMPLES)),
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout + done.stderr
    assert all(text in said for text in SAID[name]), said[-3000:]


def test_the_notebook_runs_and_reports(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    reports = [out.data["text/plain"] for out in outputs if "text/html" in out.get("data", {})]
    assert len(reports) == 3
    assert all("\nverdict  " in report for report in reports), outputs
    assert "cell 2, line 9" in reports[0]  # the generator, in a cell that ran before
    assert (tmp_path / "run.perfetto.json").exists()
