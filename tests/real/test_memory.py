"""A knowledge graph built from one server's answers in another server."""

from itertools import pairwise

from gateway import Gateway

BUILD = """
const log = await tools.git.git_log({ repo_path: input.repo, max_count: 100 });
const commits = [...log.matchAll(/^Commit: (?<hash>\\w+)\\nAuthor: (?<author>.+)\\nDate: .+\\nMessage: (?<subject>.*)$/gm)]
  .map(({ groups }) => ({ ...groups }));
const commitName = ({ hash }) => `commit ${hash}`;
const authors = [...new Set(commits.map(({ author }) => author))];
await tools.memory.create_entities({ entities: [
  ...commits.map((commit) => ({ name: commitName(commit), entityType: "commit", observations: [commit.subject] })),
  ...authors.map((author) => ({ name: author, entityType: "author", observations: [] })),
] });
await tools.memory.create_relations({ relations: [
  ...commits.map((commit) => ({ from: commit.author, to: commitName(commit), relationType: "wrote" })),
  ...commits.slice(1).map((parent, at) => (
    { from: commitName(commits[at]), to: commitName(parent), relationType: "follows" })),
] });
return commits.length;
"""


def test_a_graph_built_from_a_git_log_says_what_git_says(gateway: Gateway) -> None:
    era = gateway.era
    repository = gateway.world.repository(f"history-{era}")
    for number in range(8):
        repository.git("config", "user.name", f"{('Ada', 'Grace', 'Edsger')[number % 3]} ({era})")
        repository.commit("log.txt", f"{number}\n", f'change {number}: it\'s "quoted" – and more')
    expected = [line.split("\t") for line in repository.git("log", "--format=%H%x09%an%x09%s").splitlines()]

    built = gateway.execute(BUILD, input={"repo": str(repository.path)})
    graph = gateway.execute("return await tools.memory.read_graph();").value

    assert built.value == 8
    assert built.effects == {"reads": 1, "writes": 2}
    subjects = {
        entity["name"]: entity["observations"]
        for entity in graph["entities"]
        if entity["entityType"] == "commit"
    }
    relations = {(edge["from"], edge["relationType"], edge["to"]) for edge in graph["relations"]}
    for hash, author, subject in expected:
        assert subjects[f"commit {hash}"] == [subject]
        assert (author, "wrote", f"commit {hash}") in relations
    for (child, *_), (parent, *_) in pairwise(expected):
        assert (f"commit {child}", "follows", f"commit {parent}") in relations


def test_nodes_are_found_changed_and_deleted_and_the_graph_on_disk_agrees(gateway: Gateway) -> None:
    name = f"limbeck-{gateway.era}"
    value = gateway.execute(
        """
        const name = input;
        await tools.memory.create_entities({ entities: [{ name, entityType: "still", observations: ["glass"] }] });
        await tools.memory.add_observations({ observations: [{ entityName: name, contents: ["copper", "hot"] }] });
        await tools.memory.delete_observations({ deletions: [{ entityName: name, observations: ["glass"] }] });
        const [opened] = (await tools.memory.open_nodes({ names: [name] })).entities;
        const found = (await tools.memory.search_nodes({ query: "copper" })).entities.map((e) => e.name);
        await tools.memory.delete_entities({ entityNames: [name] });
        const after = (await tools.memory.open_nodes({ names: [name] })).entities;
        return { opened, found, after };
        """,
        input=name,
    ).value

    assert value["opened"]["observations"] == ["copper", "hot"]
    assert name in value["found"]
    assert value["after"] == []
    assert f'"{name}"' not in (gateway.world.root / "memory.jsonl").read_text()
