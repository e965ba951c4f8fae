"""`artifacts` and `emit`: in programs that wait asynchronously and in those that do not."""

import pytest

ID = "art_" + "0" * 32
HEAD = f"id = '{ID}'\nopened = artifacts.open(id)\n"


@pytest.mark.parametrize(
    "loop",
    [
        "names = [item.name for item in opened]",
        "names = [item['name'] async for item in opened]",
        "names = []\nasync for item in artifacts.open({'artifact': id}):\n    names.append(item.name)",
        "async def main():\n    return [item.name async for item in opened]\nnames = await main()",
        "import asyncio\nasync def main():\n    return [item.name for item in opened]\nnames = asyncio.run(main())",
    ],
)
def test_an_artifact_is_iterated_page_by_page(run, loop):
    assert run(f"{HEAD}{loop}\nnames").value == ["a", "b", "c"]


def test_iteration_that_ends_early_asks_for_no_more_pages(run):
    ended = run(f"{HEAD}for item in opened:\n    break\nitem.name")
    assert ended.value == "a"
    assert ended.gateway.last_id == 1


@pytest.mark.parametrize("form", ["{}", "await {}"])
@pytest.mark.parametrize(
    "call, value",
    [
        ("opened.json()", {"do": "json", "id": ID}),
        ("opened.text()", {"do": "text", "id": ID}),
        ("opened.info()", {"do": "info", "id": ID}),
        ("opened.select('$.a[0]')", {"do": "select", "id": ID, "path": "$.a[0]"}),
        ("artifacts.list()", {"do": "list"}),
        ("artifacts.save({'a': {3, 1}}, 'n')", {"do": "save", "value": {"a": [1, 3]}, "name": "n"}),
        ("artifacts.save(tools.shop.echo(a=1))", {"do": "save", "value": {"a": 1}}),
        ("emit('text')", None),
    ],
)
def test_every_read_gives_what_the_gateway_answers(run, form, call, value):
    assert run(f"{HEAD}{form.format(call)}").value == value


def test_bytes_are_decoded(run):
    assert run(f"{HEAD}list(opened.bytes())").value == [0, 1, 2, 255]


def test_what_is_no_id_is_refused_with_the_form_of_one(run):
    program = """
refused = []
for wrong in ("ex_1", 7, {"artifact": None}):
    try:
        artifacts.open(wrong)
    except ToolError as error:
        refused.append([error.code, error.message, "art_" in error.hint])
refused
"""
    got = "artifacts.open takes an artifact's id; got"
    assert run(program).value == [
        ["invalid_arguments", f"{got} 'ex_1'", True],
        ["invalid_arguments", f"{got} a int", True],
        ["invalid_arguments", f"{got} a NoneType", True],
    ]


def test_blocks_and_artifacts_are_emitted_in_order(run):
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    ended = run(f"{HEAD}emit('text')\nemit({image!r})\nemit(opened)\nemit(None)")
    assert ended.error["message"] == "emit takes a text, a content block or an artifact"
    assert ended.gateway.emitted == ["text", image, {"artifact": ID}]
