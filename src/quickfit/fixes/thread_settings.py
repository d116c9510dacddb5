"""Edits that set how many threads TensorFlow uses, before it starts any."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change
from quickfit.fixes.compile_settings import Made
from quickfit.fixes.imports import behind_import
from quickfit.fixes.lookup import called
from quickfit.fixes.places import said
from quickfit.fixes.script import Project, Script

SETTERS = {
    "inter": "set_inter_op_parallelism_threads",
    "intra": "set_intra_op_parallelism_threads",
}
TITLES = {
    "inter": "Let TensorFlow run {} at a time",
    "intra": "Give an operation {}",
}


def with_threads(script: Script, pool: str, threads: int, project: Project) -> Made:
    """Set the size of a pool of threads right behind the first import of TensorFlow.

    Args:
        script: the file that is run.
        pool: `inter` for operations at the same time, `intra` for threads inside one.
        threads: how many.
        project: all files: where one sets threads itself, that is left alone.
    """
    setting = _set_already(project)
    if setting:
        return f"{setting} sets the number of threads itself"
    code = "{name}.config.threading." + f"{SETTERS[pool]}({threads})"
    edits = behind_import(script, "tensorflow", "tf", code)
    if isinstance(edits, str):
        return edits
    what = ("operation" if pool == "inter" else "thread") + ("" if threads == 1 else "s")
    return Change(
        title=TITLES[pool].format(f"{threads} {what}"),
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=edits,
        note="Right for this machine; measure again on another. Losses agree to rounding.",
    )


def _set_already(project: Project) -> str:
    """Return the place of a call that sets a number of threads, or nothing."""
    for file in project.files:
        script = project.script(file)
        for call in script.all(ast.Call) if script is not None else ():
            if called(call) in SETTERS.values() and script is not None:
                return said(script, call.lineno)
    return ""
