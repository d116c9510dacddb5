"""The sitecustomize that carries the probes in harms nothing."""

import sys
import venv
from pathlib import Path

from quickfit.launch.parent import INJECT

from launch.sessions import clean_env, installed_command, of_the_script, outcome, python


def with_sitecustomize(tmp_path, source):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "sitecustomize.py").write_text(source)
    return clean_env(PYTHONPATH=str(tmp_path / "lib"))


def alike(tmp_path, env):
    """Run a script with and without the command `quickfit`, and compare what it shows."""
    plain = python(tmp_path, "train.py", env=env)
    command = installed_command(tmp_path.parent / "bin")
    watched = outcome((command, "run", "train.py"), tmp_path, env=env)
    assert watched.stdout == plain.stdout
    assert of_the_script(watched.stderr) == plain.stderr
    assert watched.returncode == plain.returncode
    return plain, watched


def test_the_users_own_sitecustomize_runs_and_is_what_the_script_imports(tmp_path):
    env = with_sitecustomize(tmp_path, "import builtins; builtins.mine = __name__; X = __file__\n")
    (tmp_path / "train.py").write_text("import sitecustomize; print(mine, sitecustomize.X)\n")
    plain, _ = alike(tmp_path, env)
    assert b"sitecustomize " in plain.stdout


def test_an_error_in_the_users_own_sitecustomize_is_told_by_python(tmp_path):
    env = with_sitecustomize(tmp_path, "raise RuntimeError('mine')\n")
    (tmp_path / "train.py").write_text("print('ran')\n")
    plain, _ = alike(tmp_path, env)
    assert b"Error in sitecustomize" in plain.stderr


SAYS = "import sys; print('{0} out', flush=True); print('{0} err', file=sys.stderr)\n"


def test_a_sitecustomize_gets_the_modules_beside_it_and_is_run_once(tmp_path):
    env = with_sitecustomize(tmp_path, "import json\n" + SAYS.format("site"))
    (tmp_path / "lib" / "json.py").write_text(SAYS.format("json"))
    (tmp_path / "train.py").write_text("print('script')\n")
    plain, _ = alike(tmp_path, env)
    assert plain.stdout == b"json out\nsite out\nscript\n"


def check_folder_of_packages(tmp_path, site, interpreter, **env):
    """Let a folder of packages run code at the start of Python, and find it run once."""
    ours = [entry for entry in sys.path if entry.endswith(("site-packages", "src"))]
    (site / "a.pth").write_text("\n".join([*ours, SAYS.format("pth")]))
    (site / "sitecustomize.py").write_text(SAYS.format("site"))
    (site / "usercustomize.py").write_text(SAYS.format("user") + "raise ValueError('mine')\n")
    (tmp_path / "train.py").write_text("import sys; print(sys.prefix)\n")
    command = installed_command(tmp_path / "bin", interpreter)
    env = clean_env(**env)
    plain = outcome((interpreter, "train.py"), tmp_path, env=env)
    watched = outcome((command, "run", "train.py"), tmp_path, env=env)
    assert b"site out\n" in plain.stdout
    assert watched.stdout == plain.stdout
    assert of_the_script(watched.stderr) == plain.stderr
    return plain


def test_code_of_a_virtual_environment_is_run_once(tmp_path):
    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    check_folder_of_packages(tmp_path, site, str(tmp_path / "env" / "bin" / "python"))


def test_code_of_the_users_own_packages_is_run_once(tmp_path):
    version = "python{}.{}".format(*sys.version_info)
    site = tmp_path / "base" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    base = str(tmp_path / "base")
    interpreter = str(Path(sys.base_prefix) / "bin" / version)
    plain = check_folder_of_packages(tmp_path, site, interpreter, PYTHONUSERBASE=base)
    assert b"user out\n" in plain.stdout
    assert b"ValueError: mine" in plain.stderr


def test_an_error_at_the_start_cannot_steer_the_terminal(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')\n")
    (tmp_path / "run").mkdir()
    stop = '{"steps": "\\u001b[2J\\u202e"}'
    env = clean_env(
        PYTHONPATH=str(INJECT),
        QUICKFIT_RUN=str(tmp_path / "run"),
        QUICKFIT_ROLE="main",
        QUICKFIT_STOP=stop,
    )
    done = python(tmp_path, "train.py", env=env)
    assert (done.stdout, done.returncode) == (b"ran\n", 0)
    assert b"x1b[2J" in done.stderr
    assert done.stderr.rstrip(b"\n").decode().isprintable()


def test_a_script_without_a_sitecustomize_cannot_import_one(tmp_path):
    (tmp_path / "train.py").write_text(
        "try:\n    import sitecustomize\n    print(sitecustomize.__file__)\n"
        "except ImportError as e:\n    print(type(e).__name__, e)\n"
    )
    alike(tmp_path, clean_env())


def test_a_failing_boot_costs_one_line_and_nothing_else(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')\n")
    (tmp_path / "run").mkdir()
    env = clean_env(
        PYTHONPATH=str(INJECT),
        QUICKFIT_RUN=str(tmp_path / "run"),
        QUICKFIT_ROLE="main",
        QUICKFIT_STOP="not json",
    )
    done = python(tmp_path, "train.py", env=env)
    assert (done.stdout, done.returncode) == (b"ran\n", 0)
    assert done.stderr.startswith(b"quickfit: not watching process ")
    assert done.stderr.count(b"\n") == 1


def test_a_process_that_outlived_its_run_starts_in_silence(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')\n")
    env = clean_env(PYTHONPATH=str(INJECT), QUICKFIT_RUN=str(tmp_path / "gone"))
    done = python(tmp_path, "train.py", env=env)
    assert (done.stdout, done.stderr) == (b"ran\n", b"")


def test_quickfit_is_found_by_a_python_that_does_not_have_it(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "quickfit.py").write_text("raise SystemExit('the wrong quickfit')\n")
    (tmp_path / "train.py").write_text(
        "import sys; print(sys.modules['quickfit'].__file__); print(sys.path)\n"
    )
    env = clean_env(PYTHONPATH=f"{INJECT}:{tmp_path}", QUICKFIT_RUN=str(tmp_path / "run"))
    done = outcome(("/usr/bin/env", "python3", "-s", "train.py"), tmp_path, env=env)
    assert done.returncode == 0, done.stderr.decode()
    assert str(INJECT.parents[1] / "__init__.py").encode() in done.stdout
    assert str(INJECT).encode() not in done.stdout
