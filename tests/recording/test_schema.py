"""The tables, and the statements that make them."""

import sqlite3
from contextlib import closing

import pytest

from quickfit.recording import shapes
from quickfit.recording.schema import TABLES, Column, columns, create_sql


def test_a_column_knows_its_kind_whether_it_may_miss_and_whether_it_is_a_key():
    assert columns("probes") == [
        Column("name", "TEXT", may_miss=False, is_key=True),
        Column("state", "TEXT", may_miss=True, is_key=False),
        Column("detail", "TEXT", may_miss=True, is_key=False),
    ]


@pytest.mark.parametrize("table", TABLES)
def test_sqlite_makes_the_columns_that_are_listed(table):
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(create_sql(table))
        made = db.execute(f"PRAGMA table_info({table})").fetchall()
    listed = columns(table)
    assert [(name, kind) for _, name, kind, *_ in made] == [(c.name, c.kind) for c in listed]
    assert [bool(required) for _, _, _, required, *_ in made] == [not c.may_miss for c in listed]
    assert [bool(key) for *_, key in made] == [c.is_key for c in listed]


@pytest.mark.parametrize("table", TABLES)
def test_kinds_are_those_a_reader_can_check(table):
    assert {column.kind for column in columns(table)} <= {"TEXT", "INTEGER", "REAL"}


@pytest.mark.parametrize(("table", "name"), shapes.SHAPES)
def test_a_column_of_json_is_text_and_misses_only_where_its_shape_lets_it(table, name):
    column = next(c for c in columns(table) if c.name == name)
    assert column.kind == "TEXT"
    assert column.may_miss == shapes.SHAPES[table, name](None)


def test_only_the_arguments_of_a_trace_may_miss_of_all_json():
    missing = [place for place, check in shapes.SHAPES.items() if check(None)]
    assert missing == [("traces", "arguments")]


def test_json_of_a_file_name_that_is_not_utf_8_can_be_printed():
    value = shapes.unpacked('{"file": "caf\\udce9.py", "face": "\\ud83d\\ude00"}')
    assert value == {"file": "caf?.py", "face": "😀"}
    assert str(value).encode()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "1" * 5000, "\x00"])
def test_what_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        shapes.unpacked(text)


@pytest.mark.parametrize("value", [True, None, "1", [], float("nan"), float("inf"), 10**30])
def test_what_cannot_be_calculated_with_is_no_number(value):
    assert not shapes.is_number(value)
    assert not shapes.is_whole(value)
