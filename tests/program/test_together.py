"""Which files of a program run in one process."""

from quickfit.program.together import together

from programs import program_of

FILES = {
    "train.py": "from net import model\nimport settings\n",
    "other.py": "import settings\n",
    "settings.py": "SIZE = 3\n",
    "net/__init__.py": "",
    "net/model.py": "from .parts import block\n",
    "net/parts.py": "block = 1\n",
    "alone.py": "import numpy\n",
}


def names(path):
    found = together(program_of(FILES), f"/project/{path}")
    return {name.removeprefix("/project/") for name in found}


def test_a_script_runs_with_all_it_imports():
    package = {"net/__init__.py", "net/model.py", "net/parts.py"}
    assert names("train.py") == {"train.py", "settings.py"} | package


def test_a_part_runs_with_what_its_scripts_import():
    assert names("net/parts.py") >= {"train.py", "settings.py"}
    assert "other.py" not in names("net/parts.py")


def test_two_scripts_that_share_a_module_do_not_run_together():
    assert names("other.py") == {"other.py", "settings.py"}
    assert names("settings.py") >= {"train.py", "other.py"}


def test_a_file_may_run_alone():
    assert names("alone.py") == {"alone.py"}
