"""The sitecustomize that carries the probes in harms nothing."""

from quickfit.launch.parent import INJECT

from launch.sessions import clean_env, of_the_script, outcome, python, quickfit


def with_sitecustomize(tmp_path, source):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "sitecustomize.py").write_text(source)
    return clean_env(PYTHONPATH=str(tmp_path / "lib"))


def alike(tmp_path, env):
    plain = python(tmp_path, "train.py", env=env)
    watched = quickfit(tmp_path, "run", "train.py", env=env)
    assert watched.stdout == plain.stdout
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
    plain, watched = alike(tmp_path, env)
    assert b"Error in sitecustomize" in plain.stderr
    # Also the parent is a Python that the error happens in: once there, once in the script.
    assert of_the_script(watched.stderr) == plain.stderr * 2


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
