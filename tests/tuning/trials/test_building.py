"""The user's function is found and called, and what it gives is looked at."""

import os
import pickle
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import building, saving
from quickfit.tuning.trials.building import ModelBuilder, TrainingAssembler, check_built
from quickfit.tuning.trials.settings import RecipeKind, Setting, TrialOrder

from tuning.trials import small_models

SOURCE = """
LIMIT = 3
def build(): return None
def sized(batch_size=16): return None
def must(batch): return None
def many(a, b, c=1): return None
class Maker:
    @staticmethod
    def build(): return None
"""


def order(name, batch_size=None):
    return TrialOrder(RecipeKind.NAME, name, Path(), batch_size, Setting(), Path(), None, 1)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module that a fresh interpreter would find in its folder."""
    (tmp_path / "mytraining.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("import nothing_like_this\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "mytraining"
    sys.modules.pop("mytraining", None)


def refusal(name):
    with pytest.raises(ModelError) as caught:
        ModelBuilder(order(name))
    return str(caught.value)


@pytest.mark.parametrize("name", ["build", "Maker.build"])
def test_a_function_is_found(module, name):
    assert ModelBuilder(order(f"{module}:{name}")).own_batch == 32


def test_a_module_that_is_not_there_is_told_with_near_names(module):
    text = refusal("mytrainin:build")
    assert "there is no module 'mytrainin' (for mytrainin), looked for from" in text
    assert "There is: mytraining." in text


def test_a_package_that_is_not_there_is_told_too(module):
    assert "there is no module 'nowhere' (for nowhere.train)" in refusal("nowhere.train:build")


def test_a_module_that_theirs_imports_keeps_its_own_error(module):
    with pytest.raises(ModuleNotFoundError, match="nothing_like_this"):
        ModelBuilder(order("broken:build"))


def test_a_function_that_is_not_there_is_told_with_near_names(module):
    text = refusal(f"{module}:biuld")
    assert text.startswith("mytraining has no function 'biuld'. There is: build.")


def test_something_that_is_no_function_is_told(module):
    assert refusal(f"{module}:LIMIT") == "mytraining:LIMIT is a int, not a function."


def test_a_function_that_needs_arguments_is_told(module):
    assert refusal(f"{module}:many").startswith("mytraining:many needs arguments (a, b),")


@pytest.mark.parametrize(
    ("name", "batch_size", "expected"),
    [
        ("build", None, 32),
        ("build", 8, 8),
        ("sized", None, 16),
        ("sized", 8, 8),
        ("must", None, 32),
    ],
)
def test_the_own_batch_is_what_the_user_has(module, name, batch_size, expected):
    assert ModelBuilder(order(f"{module}:{name}", batch_size)).own_batch == expected


def test_a_pickled_function_is_found(tmp_path):
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps(dict))
    ModelBuilder(TrialOrder(RecipeKind.FUNCTION, "dict", path, None, Setting(), tmp_path, None, 1))


@pytest.fixture
def assembler(tf, tmp_path):
    def made(build, **changes):
        path = tmp_path / "function.pickle"
        path.write_bytes(saving.pack_function(build, "build"))
        setting = Setting(**changes)
        return TrainingAssembler(
            TrialOrder(RecipeKind.FUNCTION, "build", path, None, setting, Path(), None, 1)
        )

    return made


def plain():
    return small_models.model(), small_models.dataset()


@pytest.mark.loads_tf
def test_it_is_the_same_model_every_time(assembler):
    made = assembler(plain)
    one, other = made.assemble().model, made.assemble().model
    assert one is not other
    assert all((a == b).all() for a, b in zip(one.get_weights(), other.get_weights(), strict=True))


@pytest.mark.loads_tf
def test_compiling_is_changed_and_the_rest_is_not(assembler):
    model, _ = assembler(plain, jit=True, steps_per_execution=8).assemble()
    assert (model.jit_compile, model.steps_per_execution) == (True, 8)
    assert model.loss == "sparse_categorical_crossentropy"


@pytest.mark.loads_tf
def test_the_batch_is_changed(assembler):
    assert assembler(plain, batch=16).assemble().feed.batch == 16


@pytest.mark.loads_tf
def test_a_function_that_takes_a_batch_size_is_given_it(assembler):
    def build(batch_size=4):
        return small_models.model(), small_models.dataset(batch=batch_size)

    assert assembler(build).assemble().feed.batch == 4
    assert assembler(build, batch=10).assemble().feed.batch == 10


@pytest.mark.loads_tf
def test_arrays_of_a_function_with_a_batch_size_come_in_that(assembler):
    def build(batch_size=4):
        return small_models.model(), small_models.arrays()

    assert assembler(build).assemble().feed.batch == 4


@pytest.mark.loads_tf
def test_data_in_memory_are_the_users_own_for_learning(assembler):
    made = assembler(plain, in_memory=True)

    def is_endless(feed):
        return len(list(islice(feed.batches(), 50))) == 50

    assert is_endless(made.assemble().feed)
    assert not is_endless(made.assemble(keeps_input=True).feed)


@pytest.mark.loads_tf
def test_the_policy_is_applied(assembler):
    model, _ = assembler(plain, policy="mixed_bfloat16").assemble()
    assert model.layers[0].compute_dtype == "bfloat16"


@pytest.mark.loads_tf
def test_xla_is_refused_for_an_eager_model(assembler):
    def build():
        return small_models.model(run_eagerly=True), small_models.dataset()

    with pytest.raises(ModelError, match="compiled with run_eagerly=True, so XLA has nothing"):
        assembler(build, jit=True).assemble()


@pytest.mark.loads_tf
def test_threads_that_the_user_sets_are_told(assembler, tf):
    assert tf.config.threading.get_intra_op_parallelism_threads() != 3
    with pytest.raises(ModelError, match="your code sets the intra-op threads to 0 itself, so 3"):
        assembler(plain, intra_threads=3).assemble()


@pytest.mark.loads_tf
def test_inputs_alone_are_refused_where_the_loss_needs_labels(assembler):
    def build():
        return small_models.model(), small_models.arrays()[0]

    with pytest.raises(ModelError, match=r"loss of the model \(sparse_categorical_crossentropy\)"):
        assembler(build).assemble()


@pytest.mark.loads_tf
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"build returned nothing \(None\)\. It must return two things"),
        (([], [], [], [], []), r"build returned a tuple of 5 \(list, list"),
        (({}, []), "the first thing build returned is a dict, not a Keras model"),
    ],
)
def test_something_else_than_a_model_and_data_is_refused(tf, returned, message):
    with pytest.raises(ModelError, match=message):
        check_built(returned, "build")


@pytest.mark.loads_tf
def test_a_model_that_is_not_compiled_is_refused_with_the_line_to_add(tf):
    import keras

    with pytest.raises(ModelError, match=r"is not compiled(?s:.*)model\.compile\(optimizer="):
        check_built((keras.Sequential(), small_models.arrays()), "build")


@pytest.mark.loads_tf
def test_a_model_and_two_arrays_are_taken_as_meant(tf):
    x, y = small_models.arrays()
    built = check_built((small_models.model(), x, y), "build")
    assert isinstance(built.data, tuple)
    assert np.array_equal(built.data[1], y)


def run(code):
    head = "import os\nfrom quickfit.lab import child_side\n"
    return subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, check=False
    )


def test_it_is_the_first_to_go_where_memory_runs_out():
    ran = run("child_side.settle(os.getppid()); print(open('/proc/self/oom_score_adj').read())")
    assert ran.stdout.strip() == "1000"


def test_it_ends_at_once_where_its_parent_is_gone():
    ran = run(f"child_side.settle({os.getpid()} + 1); print('still here')")
    assert (ran.returncode, ran.stdout) == (1, "")


@pytest.fixture
def folders(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(tf.data.Dataset, "cache", tf.data.Dataset.cache)
    theirs, scratch = tmp_path / "theirs", tmp_path / "scratch"
    theirs.mkdir()
    scratch.mkdir()
    building.redirect_dataset_caches(scratch)
    return theirs, scratch


@pytest.mark.loads_tf
def test_a_cache_that_is_not_there_is_written_to_scratch(tf, folders):
    theirs, scratch = folders
    assert len(list(tf.data.Dataset.range(5).cache(str(theirs / "mine")))) == 5
    assert not list(theirs.iterdir())
    assert list(scratch.iterdir())


@pytest.mark.loads_tf
def test_a_complete_cache_is_read(tf, folders, tmp_path):
    theirs, _ = folders
    written = tf.data.Dataset.range(5).cache.__func__
    list(tf.data.Dataset.range(5).cache(theirs / "mine"))
    assert written is tf.data.Dataset.cache
    made = next(iter(folders[1].glob("cache-0.index")))
    for file in folders[1].iterdir():
        file.rename(theirs / file.name.replace("cache-0", "mine"))
    assert made.name == "cache-0.index"
    # Other numbers: what comes is what the file has.
    found = [int(n) for n in tf.data.Dataset.range(10, 15).cache(str(theirs / "mine"))]
    assert found == [0, 1, 2, 3, 4]


@pytest.mark.loads_tf
def test_a_cache_in_memory_stays_one(tf, folders):
    assert len(list(tf.data.Dataset.range(5).cache())) == 5
    assert not list(folders[1].iterdir())
