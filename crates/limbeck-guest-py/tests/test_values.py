"""The JSON form of values: what a program returns, and the arguments of its calls."""

import json

import pytest

PREAMBLE = """
import array, collections, dataclasses, datetime, decimal, enum, fractions, ipaddress, itertools, pathlib, re, types, uuid, zoneinfo
from collections import *
from dataclasses import *
from datetime import *
"""


@pytest.mark.parametrize(
    "expression, value",
    [
        ("None", None),
        ("[None, True, 1, -1.5, 'é', [], {}]", [None, True, 1, -1.5, "é", [], {}]),
        ("float('nan')", None),
        ("[float('inf'), 1e300]", [None, 1e300]),
        ("2**64", "18446744073709551616"),
        ("[2**64 - 1, -(2**64) + 1]", [2**64 - 1, -(2**64) + 1]),
        ("{'n': 10**30}", {"n": "1" + "0" * 30}),
        ("(1, (2, 3))", [1, [2, 3]]),
        ("datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)", "2024-01-02T03:04:05+00:00"),
        ("date(2024, 1, 2)", "2024-01-02"),
        ("time(3, 4)", "03:04:00"),
        ("timedelta(days=1, hours=2, seconds=3.5)", "P1DT2H3.5S"),
        ("[timedelta(), timedelta(minutes=-90), timedelta(days=2)]", ["PT0S", "-PT1H30M", "P2D"]),
        ("zoneinfo.ZoneInfo('Europe/Berlin')", "Europe/Berlin"),
        ("decimal.Decimal('12.50')", "12.50"),
        ("fractions.Fraction(1, 3)", "1/3"),
        ("1 + 2j", "(1+2j)"),
        ("{3, 1, 2}", [1, 2, 3]),
        ("frozenset(['b', 'a'])", ["a", "b"]),
        ("{1, 'a'}", [1, "a"]),
        ("b'text'", "text"),
        ("bytearray(b'\\xff\\x00')", "/wA="),
        ("range(3)", [0, 1, 2]),
        ("(i * i for i in range(3))", [0, 1, 4]),
        ("map(str, [1, 2])", ["1", "2"]),
        ("zip('ab', [1, 2])", [["a", 1], ["b", 2]]),
        ("{'a': 1}.keys()", ["a"]),
        ("{'a': 1}.items()", [["a", 1]]),
        ("deque([1, 2])", [1, 2]),
        ("Counter('aab')", {"a": 2, "b": 1}),
        ("defaultdict(list, {'a': [1]})", {"a": [1]}),
        ("OrderedDict(b=1, a=2)", {"b": 1, "a": 2}),
        ("ChainMap({'a': 1}, {'b': 2})", {"b": 2, "a": 1}),
        ("types.MappingProxyType({'a': 1})", {"a": 1}),
        ("UserDict(a=1)", {"a": 1}),
        ("array.array('i', [1, 2])", [1, 2]),
        ("namedtuple('P', 'x y')(1, namedtuple('Q', 'z')(2))", {"x": 1, "y": {"z": 2}}),
        ("[{'deep': [namedtuple('P', 'x')(1)]}]", [{"deep": [{"x": 1}]}]),
        ("dataclass(type('D', (), {'__annotations__': {'a': int, 'b': set}}))(1, {2})", {"a": 1, "b": [2]}),
        ("enum.Enum('E', {'A': 'a'}).A", "a"),
        ("[enum.IntEnum('E', {'A': 1}).A, enum.Enum('F', {'T': (1, 2)}).T]", [1, [1, 2]]),
        ("pathlib.PurePosixPath('/a') / 'b'", "/a/b"),
        ("uuid.UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
        ("ipaddress.ip_address('10.0.0.1')", "10.0.0.1"),
        ("re.compile('a+')", "a+"),
        ("types.SimpleNamespace(a=1, b={2})", {"a": 1, "b": [2]}),
        ("ValueError('no')", {"name": "ValueError", "message": "no"}),
        ("type('Plain', (), {'__init__': lambda self: self.__dict__.update(a=1, _b=2)})()", {"a": 1}),
        ("type('Shown', (), {'__repr__': lambda self: 'shown'})()", "shown"),
        ("type('Array', (), {'tolist': lambda self: [1, 2]})()", [1, 2]),
        ("type('Scalar', (), {'item': lambda self: 1.5})()", 1.5),
        ("type('Model', (), {'model_dump': lambda self: {'at': date(2024, 1, 2)}})()", {"at": "2024-01-02"}),
        ("int", "int"),
        ("len", "<built-in function len>"),
        ("object()", "<object object>"),
        ("{1: 'a', 1.0 + 0.5: 'b', None: 'c', True and 'x': 'd', (1, 2): 'e', date(2024, 1, 2): 'f'}",
         {"1": "a", "1.5": "b", "null": "c", "x": "d", "(1, 2)": "e", "2024-01-02": "f"}),
        ("{1.0: 'x'}", {"1.0": "x"}),
        ("{True: 'x', False: 'y'}", {"true": "x", "false": "y"}),
        ("{enum.Enum('E', {'A': 'a'}).A: 1, uuid.UUID(int=1): 2}", {"a": 1, "00000000-0000-0000-0000-000000000001": 2}),
        ("'\\ud800'", "\ufffd"),
    ],
)  # fmt: skip
def test_a_value_has_its_json_form(run, expression, value):
    ended = run(f"{PREAMBLE}\n[{expression}]")
    assert ended.value == [value]


@pytest.mark.parametrize(
    "program, reason",
    [
        ("a = []\na.append(a)\na", "value[0] refers back to value; JSON cannot hold a cycle"),
        ("a = {'x': {}}\na['x']['up'] = a\na", "value.x.up refers back to value; JSON cannot hold a cycle"),
        ("a = []\nfor _ in range(200):\n    a = [a]\na", "is nested more than 127 levels deep"),
        ("a = []\nfor _ in range(100_000):\n    a = [a]\nreturn a", "is nested more than 127 levels deep"),
        ("import itertools\n{'all': itertools.count()}", "value.all has more than 1000000 items"),
        ("import sys\n10 ** 5000", "is a number of 16610 bits, too long to write down"),
    ],
)
def test_a_value_without_a_json_form_says_where_and_why(run, program, reason):
    ended = run(program)
    assert ended.kind == 2
    assert reason in ended.text


def test_ten_megabytes_come_back_as_they_are(run):
    program = """
rows = [{"id": i, "name": f"item {i}", "tags": ["a", "b"], "price": i * 1.5} for i in range(100_000)]
rows
"""
    ended = run(program)
    assert len(ended.text) > 5_000_000
    assert ended.value[99_999] == {"id": 99_999, "name": "item 99999", "tags": ["a", "b"], "price": 149_998.5}


def test_arguments_are_rendered_too_and_what_only_a_reader_understands_is_refused(run):
    program = """
from datetime import date
from decimal import Decimal
sent = tools.shop.echo(day=date(2024, 1, 2), amount=Decimal("1.5"), tags={"b", "a"}, points=(1, 2))
refused = []
for value in [print, object(), tools, tools.shop.echo, lambda: 1, (x for x in "ab")]:
    try:
        tools.shop.echo(value=[value])
        refused.append("sent")
    except TypeError as error:
        refused.append(str(error))
return [sent, refused]
"""
    sent, refused = run(program).value
    assert sent == {"day": "2024-01-02", "amount": "1.5", "tags": ["a", "b"], "points": [1, 2]}
    assert refused[0] == "tools.shop.echo: argument.value[0] is a function, which has no JSON form"
    assert [text == "sent" for text in refused] == [False, False, False, False, False, True]


def test_integers_and_texts_of_program_classes_are_written_by_their_value(run):
    program = """
class Number(int):
    def __repr__(self): return '1,"forged":2'
class Text(str):
    def __str__(self): return "other"
return tools.shop.echo({"n": Number(7), "t": Text("kept"), Text("k"): [Number(1)]})
"""
    assert run(program).value == {"n": 7, "t": "kept", "k": [1]}


def test_records_are_dicts_with_attributes(run):
    program = """
import copy, json, pickle
page = tools.shop.list_orders(page=1)
first = page["items"][0]
first.note = "added"
try:
    page.itemz
except AttributeError as error:
    missing = str(error)
return {
    "same": first.customer.name == first["customer"]["name"],
    "method": [key for key, _ in page.items()] == list(page),
    "missing": missing,
    "json": json.loads(json.dumps(page)) == page,
    "copies": [copy.deepcopy(page) == page, type(copy.copy(page)) is type(page), pickle.loads(pickle.dumps(page)) == page],
    "dict": [isinstance(page, dict), dict(page) == page, {**first}["note"]],
}
"""
    assert run(program).value == {
        "same": True,
        "method": True,
        "missing": "no field 'itemz'; the nearest are 'items'",
        "json": True,
        "copies": [True, True, True],
        "dict": [True, True, "added"],
    }


def test_the_text_of_a_value_is_json(run):
    assert json.loads(run("{'a': [1, 'x']}").text) == {"a": [1, "x"]}
