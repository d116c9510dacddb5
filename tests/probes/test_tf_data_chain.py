"""Where dataset operations were written, and what feeds them; on objects made like TensorFlow's."""

import gc
import json
import sys
from types import SimpleNamespace

import pytest

from quickfit.probes import tf_data_chain
from quickfit.probes.tf_data_chain import describe_chain, patch_datasets


class Graph:
    """The one outside all functions."""


class FuncGraph:
    """A function that is being traced."""

    def __init__(self, outer_graph=None):
        self.outer_graph = outer_graph
        self.outputs, self.inputs, self.captures = [], [], []

    def get_operations(self):
        return []


class CondBranchFuncGraph(FuncGraph):
    """A branch of a condition in a function."""


class Variant:
    """A tensor that stands for a dataset."""

    def __init__(self, op=None):
        self.op = op or SimpleNamespace(type="Dataset", inputs=[])
        self.dtype = SimpleNamespace(name="variant")


@pytest.fixture
def tf():
    """Return a module with datasets, which are noticed when they are made."""

    class DatasetV2:
        def __init__(self, variant_tensor):
            self._variant_tensor = variant_tensor
            self._graph_attr = module.graph

        def _inputs(self):
            return list(getattr(self, "inputs", ()))

        def cardinality(self):
            raise ValueError

    def apply_rewrite(dataset, rewrite):
        return make("_VariantDataset")

    def make(name, *inputs, variant=None, **parts):
        made = object.__new__(type(name, (module.DatasetV2,), {}))
        made.__dict__.update(inputs=inputs, **parts)
        module.DatasetV2.__init__(made, variant or Variant())
        return made

    module = SimpleNamespace(
        DatasetV2=DatasetV2, apply_rewrite=apply_rewrite, make=make, graph=Graph()
    )
    patch_datasets(module)
    return module


def described(state, dataset):
    """Return the rows of a chain by their kind."""
    describe_chain(dataset, state)
    return {
        row[1]: SimpleNamespace(
            number=row[0], line=row[3], inputs=json.loads(row[4]), facts=json.loads(row[5])
        )
        for row in state.writer.rows("datasets")
    }


def function(graph):
    return SimpleNamespace(_func=len, function=SimpleNamespace(graph=graph))


def test_a_chain_is_recorded_once_with_its_lines(state, tf):
    source = tf.make("_RangeDataset")
    line = sys._getframe().f_lineno
    top = tf.make("_BatchDataset", source)
    rows = described(state, top)
    # The nearest line is the one of `make`, in this file as well.
    assert rows["Batch"].line == rows["Range"].line < line
    assert rows["Batch"].facts["via"][0] == [__file__, line + 1]
    assert rows["Range"].facts["via"][0] == [__file__, line - 1]
    assert rows["Batch"].inputs == [rows["Range"].number]
    assert describe_chain(top, state) == rows["Batch"].number
    assert len(state.writer.rows("datasets")) == 2
    assert __file__ in state.writer.sources


def test_the_callers_of_a_helper_are_facts(state, tf):
    def helper():
        return tf.make("_RangeDataset")

    line = sys._getframe().f_lineno + 1
    rows = described(state, helper())
    via = rows["Range"].facts["via"]
    assert [__file__, line] in via


def test_a_dataset_that_was_made_before_quickfit_has_no_line(state, tf):
    early = tf.make("_RangeDataset")
    del tf_data_chain._written[early]
    row = described(state, early)["Range"]
    assert (row.line, row.facts) == (None, {})


def test_a_reader_tells_its_files_by_what_it_is_made_of(state, tf):
    names = tf.make("_TensorSliceDataset")
    made_of = tf.make("_FlatMapDataset", names)
    rows = described(state, tf.make("TextLineDatasetV2", _impl=made_of))
    assert rows["TextLineDatasetV2"].inputs == [rows["TensorSlice"].number]
    assert "FlatMap" not in rows


def test_what_a_rewritten_dataset_was_made_of_is_known(state, tf):
    rewritten = tf.apply_rewrite(tf.make("_RangeDataset"), "replicate_on_split")
    rows = described(state, rewritten)
    assert rows["Variant"].inputs == [rows["Range"].number]


def test_a_dataset_of_the_first_version_is_what_it_wraps(state, tf):
    class DatasetV1Adapter(tf.DatasetV2):
        def __init__(self, dataset):
            self._dataset = dataset
            super().__init__(dataset._variant_tensor)

    rows = described(state, DatasetV1Adapter(tf.make("_RangeDataset")))
    assert rows["DatasetV1Adapter"].inputs == [rows["Range"].number]


def traced(tf, *, branch=False):
    """Return a graph in which two datasets were made, of which the second uses the first."""
    outside, graph = tf.graph, FuncGraph()
    tf.graph = CondBranchFuncGraph(graph) if branch else graph
    inner = tf.make("_TensorDataset")
    top = tf.make("_TakeDataset", inner)
    tf.graph = outside
    return graph, top


def test_the_chain_that_a_function_returns_is_described_too(state, tf):
    graph, top = traced(tf)
    returned = Variant(SimpleNamespace(type="Identity", inputs=[top._variant_tensor]))
    graph.outputs = [returned]
    source = tf.make("_RangeDataset")
    rows = described(state, tf.make("_FlatMapDataset", source, _map_func=function(graph)))
    assert rows["FlatMap"].inputs == [rows["Range"].number]
    assert rows["FlatMap"].facts["sub"] == [rows["Take"].number]
    assert rows["Take"].inputs == [rows["Tensor"].number]


def test_of_a_condition_all_that_feed_no_other_are_candidates(state, tf):
    graph, _ = traced(tf, branch=True)
    tf.graph = graph
    unknown = tf.make("_VariantDataset")
    tf.graph = Graph()
    graph.outputs = [unknown._variant_tensor]
    rows = described(state, tf.make("_InterleaveDataset", _map_func=function(graph)))
    assert rows["Interleave"].facts["sub"] == [rows["Take"].number]


def test_a_dataset_from_outside_that_a_function_returns_is_found(state, tf):
    other, graph = tf.make("_RangeDataset"), FuncGraph()
    inner = Variant(SimpleNamespace(type="Placeholder", inputs=[]))
    graph.captures, graph.outputs = [(other._variant_tensor, inner)], [inner]
    rows = described(state, tf.make("_FlatMapDataset", _map_func=function(graph)))
    assert rows["FlatMap"].facts["sub"] == [rows["Range"].number]


def test_a_function_that_returns_no_dataset_has_none(state, tf):
    graph, _ = traced(tf)
    output = Variant()
    output.dtype.name = "int64"
    graph.outputs = [output]
    rows = described(state, tf.make("_MapDataset", _map_func=function(graph)))
    assert "sub" not in rows["Map"].facts


def test_a_function_that_unrolls_a_long_loop_keeps_only_so_many(state, tf):
    tf.graph = FuncGraph()
    for _ in range(tf_data_chain.MAX_KEPT + 5):
        tf.make("_TakeDataset")
    assert len(tf.graph._quickfit_datasets) == tf_data_chain.MAX_KEPT


def test_a_chain_without_end_is_described_up_to_a_limit(state, tf):
    dataset = tf.make("_RangeDataset")
    for _ in range(tf_data_chain.MAX_CHAIN + 50):
        dataset = tf.make("_TakeDataset", dataset)
    describe_chain(dataset, state)
    assert len(state.writer.rows("datasets")) == tf_data_chain.MAX_CHAIN + 1


def test_datasets_that_are_gone_are_not_kept(state, tf):
    gc.collect()
    before = len(tf_data_chain._written)
    for _ in range(50):
        describe_chain(tf.make("_TakeDataset", tf.make("_RangeDataset")), state)
    gc.collect()
    assert len(tf_data_chain._written) == before
    assert not state.kept["datasets"]


def test_nothing_is_kept_when_the_probe_is_off(state, tf):
    state.probes["tf_data"].turn_off("off", "")
    assert tf.make("_RangeDataset") not in tf_data_chain._written


def test_an_error_of_ours_turns_the_probe_off_and_nothing_else(state, tf, monkeypatch):
    monkeypatch.setattr(tf_data_chain, "written", lambda frame: 1 / 0)
    assert tf.make("_RangeDataset")._inputs() == []
    assert state.probes["tf_data"].state == "failed"
