"""Facts that are recorded once."""

import json
import os

import quickfit
from quickfit.recording import environment


def test_the_facts_of_a_process_are_json_and_name_it():
    facts = json.loads(json.dumps(environment.process_facts("main")))
    assert facts["role"] == "main"
    assert facts["pid"] == os.getpid()
    assert facts["quickfit_version"] == quickfit.__version__
    assert facts["cwd"] == os.getcwd()
    assert facts["usable_cores"] > 0


def test_a_working_directory_that_was_removed_is_not_a_fact(monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    assert environment.process_facts("main")["cwd"] is None
