"""Files that outlive a program: `workspace`, and the same files at `/projects`."""

from gateway import Gateway


def test_files_are_written_read_listed_and_removed(run):
    store = run("workspace.write('a/b.txt', 'text')\nawait workspace.write('c.bin', b'\\xff\\x00')\nworkspace.write('d.json', {'n': 1})").gateway.store
    assert store["workspace"] == {"a/b.txt": {"text": "text"}, "c.bin": {"base64": "/wA="}, "d.json": {"text": '{"n":1}'}}
    program = "[workspace.read('a/b.txt'), list(workspace.read_bytes('c.bin')), [f['path'] for f in workspace.list()], workspace.remove('c.bin')]"
    ended = run(program, gateway=Gateway(store=store))
    assert ended.value == ["text", [255, 0], ["a/b.txt", "c.bin", "d.json"], True]
    assert "has no file `c.bin`" in run("workspace.read('c.bin')", gateway=Gateway(store=ended.gateway.store)).error["message"]


def test_a_program_without_their_name_asks_for_no_file(run):
    ended = run("open('/tmp/x', 'w').write('a')\nopen('/tmp/x').read()")
    assert (ended.value, ended.gateway.last_id) == ("a", 0)
