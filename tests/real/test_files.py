"""Files and repositories: what one server writes the other reads."""

import re
from collections import Counter

from gateway import Gateway

AGGREGATE = """
const texts = await Promise.all(input.paths.map(async (path) => {
  const { content } = await tools.filesystem.read_text_file({ path });
  return content;
}));
const totals: Record<string, number> = {};
for (const line of texts.flatMap((text) => text.trimEnd().split("\\n"))) {
  const [name, amount] = line.split(",");
  totals[name] = (totals[name] ?? 0) + Number(amount);
}
const [longest] = texts.map((text, at) => ({ at, length: text.length })).sort((a, b) => b.length - a.length);
return { files: texts.length, totals, longest: input.paths[longest.at] };
"""

WRITE_AND_COMMIT = """
const { repo, file, content } = input;
const path = `${repo}/${file}`;
await tools.filesystem.write_file({ path, content });
const before = await tools.git.git_status({ repo_path: repo });
await tools.git.git_add({ repo_path: repo, files: [file] });
const staged = await tools.git.git_diff_staged({ repo_path: repo });
const committed = await tools.git.git_commit({ repo_path: repo, message: "written by a program" });
const hash = committed.match(/[0-9a-f]{40}/)[0];
const shown = await tools.git.git_show({ repo_path: repo, revision: hash });
return { before, staged, hash, shown };
"""


def test_forty_files_are_read_in_parallel_and_only_the_sum_comes_back(gateway: Gateway) -> None:
    directory = gateway.world.files / f"ledger-{gateway.era}"
    directory.mkdir()
    totals: Counter[str] = Counter()
    paths = []
    for number in range(40):
        lines = [(f"account-{(number * 7 + row) % 11}", number * 31 + row) for row in range(100 + number)]
        for name, amount in lines:
            totals[name] += amount
        path = directory / f"{number:02}.csv"
        path.write_text("".join(f"{name},{amount}\n" for name, amount in lines))
        paths.append(path)
    longest = max(paths, key=lambda path: path.stat().st_size)

    ran = gateway.execute(AGGREGATE, input={"paths": [str(path) for path in paths]})

    assert ran.value == {"files": 40, "totals": dict(totals), "longest": str(longest)}
    assert ran.effects == {"reads": 40, "writes": 0}
    assert not ran.warnings


def test_a_file_written_through_one_server_is_committed_through_another(gateway: Gateway) -> None:
    repository = gateway.world.repository(f"written-{gateway.era}")
    repository.commit("README.md", "# old\n", "first")
    # Text that a careless pipe would bend: quotes, backslashes, NUL-like escapes, other scripts.
    content = 'tab\tquote " backslash \\ \\u0000 ünïcödé 漢字 🜂\r\nlast line\n'

    ran = gateway.execute(
        WRITE_AND_COMMIT,
        input={"repo": str(repository.path), "file": "notes.txt", "content": content},
    )
    value = ran.value

    assert "notes.txt" in value["before"] and "Untracked" in value["before"]
    assert "+last line" in value["staged"] and "+last line" in value["shown"]
    assert value["hash"] == repository.git("rev-parse", "HEAD").strip()
    assert repository.git("log", "-1", "--format=%s").strip() == "written by a program"
    committed = (repository.path / "notes.txt").read_bytes().decode()
    assert committed == content
    assert ran.effects == {"reads": 3, "writes": 3}


def test_a_file_committed_with_git_is_read_back_through_both_servers(gateway: Gateway) -> None:
    repository = gateway.world.repository(f"read-{gateway.era}")
    first = repository.commit("poem.txt", "one line\n", "first")
    repository.commit("poem.txt", "one line\ntwo lines\n", "second")

    value = gateway.execute(
        """
        const { repo, first } = input;
        const [file, diff, log] = await Promise.all([
          tools.filesystem.read_text_file({ path: `${repo}/poem.txt` }),
          tools.git.git_diff({ repo_path: repo, target: first }),
          tools.git.git_log({ repo_path: repo, max_count: 10 }),
        ]);
        return { content: file.content, diff, hashes: log.match(/[0-9a-f]{40}/g) };
        """,
        input={"repo": str(repository.path), "first": first},
    ).value

    assert value["content"] == "one line\ntwo lines\n"
    assert re.search(r"^\+two lines$", value["diff"], re.MULTILINE)
    assert value["hashes"] == repository.git("log", "--format=%H").split()


def test_a_path_outside_the_servers_directory_throws_the_servers_own_words(gateway: Gateway) -> None:
    inside = gateway.world.files / f"inside-{gateway.era}.txt"
    inside.write_text("mine")
    outside = gateway.world.root / "outside.txt"
    outside.write_text("not mine")

    value = gateway.execute(
        """
        const read = async (path) => {
          try {
            return (await tools.filesystem.read_text_file({ path })).content;
          } catch (error) {
            const { name, code, server, tool, message } = error;
            return { name, code, server, tool, message, known: error instanceof ToolError };
          }
        };
        return [await read(input.inside), await read(input.outside)];
        """,
        input={"inside": str(inside), "outside": str(outside)},
    ).value

    content, error = value
    assert content == "mine"
    assert (error["name"], error["code"], error["known"]) == ("ToolError", "tool_failed", True)
    assert (error["server"], error["tool"]) == ("filesystem", "read_text_file")
    assert "outside allowed directories" in error["message"]
