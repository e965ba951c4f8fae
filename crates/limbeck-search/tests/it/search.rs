//! Search over captured tool lists finds the tools that a person would choose.

use std::sync::Arc;
use std::time::Instant;

use limbeck_captures::{definition, samples};
use limbeck_catalog::{Catalog, ResolveError, ServerTools};
use limbeck_domain::{ServerName, ToolId, limits};
use limbeck_search::{Evidence, SearchQuery, SearchableCatalog};
use serde_json::json;

fn searchable(servers: Vec<ServerTools>) -> SearchableCatalog {
    SearchableCatalog::new(Arc::new(Catalog::new(servers)))
}

/// All sample servers.
fn catalog() -> SearchableCatalog {
    let servers = samples().into_iter().map(|sample| {
        let definitions = sample.definitions();
        ServerTools::new(sample.name(), definitions, sample.instructions)
    });
    searchable(servers.collect())
}

/// A server whose tools have these names and nothing else.
fn named(server: &str, tools: &[&str]) -> ServerTools {
    let schema = json!({"type": "object"});
    let definitions = tools
        .iter()
        .map(|tool| definition(server, &json!({"name": tool, "inputSchema": schema})));
    ServerTools::new(ServerName::from(server), definitions.collect(), None)
}

fn names(
    catalog: &SearchableCatalog,
    text: &str,
    server: Option<&str>,
    limit: usize,
) -> Vec<String> {
    let answer = catalog.search(&SearchQuery {
        server,
        limit,
        ..SearchQuery::new(text)
    });
    answer
        .hits
        .iter()
        .map(|hit| hit.tool.id().to_string())
        .collect()
}

/// A query, and the tools of which one must be first.
const FIRST: &[(&str, &[&str])] = &[
    (
        "read file",
        &["filesystem.read_text_file", "filesystem.read_file"],
    ),
    ("read_text_file", &["filesystem.read_text_file"]),
    ("readTextFile", &["filesystem.read_text_file"]),
    ("list pull requests", &["github.list_pull_requests"]),
    ("filesystem list directory", &["filesystem.list_directory"]),
    ("create folder", &["filesystem.create_directory"]),
    ("make a new dir", &["filesystem.create_directory"]),
    ("rename file", &["filesystem.move_file"]),
    ("post slack message", &["slack.slack_post_message"]),
    ("send message to channel", &["slack.slack_post_message"]),
    ("reply to a thread", &["slack.slack_reply_to_thread"]),
    ("add emoji reaction", &["slack.slack_add_reaction"]),
    (
        "open a ticket on github",
        &["github.create_issue", "github.issue_write"],
    ),
    ("merge request discussions", &["gitlab.mr_discussions"]),
    ("merge a pull request", &["github.merge_pull_request"]),
    (
        "gitlab merge request",
        &[
            "gitlab.get_merge_request",
            "gitlab.list_merge_requests",
            "gitlab.create_merge_request",
            "gitlab.merge_merge_request",
        ],
    ),
    ("merge mr", &["gitlab.merge_merge_request"]),
    ("update pr title", &["github.update_pull_request_title"]),
    ("comit changes", &["git.git_commit"]),
    ("knowledge graph", &["memory.read_graph"]),
    (
        "remove entities from the graph",
        &["memory.delete_entities"],
    ),
    ("create entites", &["memory.create_entities"]),
    (
        "git diff",
        &[
            "git.git_diff",
            "git.git_diff_unstaged",
            "git.git_diff_staged",
        ],
    ),
    ("search code", &["github.search_code", "gitlab.search_code"]),
    ("directory tree", &["filesystem.directory_tree"]),
    (
        "fork repo",
        &["github.fork_repository", "gitlab.fork_repository"],
    ),
    (
        "list direct",
        &[
            "filesystem.list_directory",
            "filesystem.directory_tree",
            "filesystem.create_directory",
            "filesystem.list_allowed_directories",
            "filesystem.list_directory_with_sizes",
        ],
    ),
];

#[test]
fn labeled_queries_find_their_tool_first() {
    let catalog = catalog();
    let mut wrong = Vec::new();
    for (query, expected) in FIRST {
        let found = names(&catalog, query, None, 5);
        if !found
            .first()
            .is_some_and(|first| expected.contains(&first.as_str()))
        {
            wrong.push(format!("{query}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_empty_query_lists_the_tools_of_the_server_in_its_own_order() {
    let catalog = catalog();
    let answer = catalog.search(&SearchQuery {
        server: Some("Memory"),
        limit: 2,
        ..SearchQuery::new("  ")
    });
    let found = answer
        .hits
        .iter()
        .map(|hit| &*hit.tool.id().tool)
        .collect::<Vec<_>>();
    assert_eq!(
        (found, answer.total),
        (vec!["create_entities", "create_relations"], 9)
    );
}

#[test]
fn a_server_filter_excludes_other_servers_and_an_unknown_one_is_an_error() {
    let catalog = catalog();
    let found = names(&catalog, "list issues", Some("gitlab"), 10);
    assert!(
        !found.is_empty() && found.iter().all(|name| name.starts_with("gitlab.")),
        "{found:?}"
    );

    let answer = catalog.search(&SearchQuery {
        server: Some("gitlob"),
        limit: 10,
        ..SearchQuery::new("list issues")
    });
    let Some(ResolveError::UnknownServer { nearest, .. }) = answer.unknown_server else {
        panic!("{answer:?}");
    };
    assert_eq!((nearest[0].as_str(), answer.hits.len()), ("gitlab", 0));
}

#[test]
fn without_a_hit_the_nearest_tools_are_suggested() {
    let catalog = catalog();
    for text in ["zqxv wkjq", "日本語"] {
        let answer = catalog.search(&SearchQuery::new(text));
        assert_eq!(
            (answer.total, answer.nearest.is_empty()),
            (0, false),
            "{text}: {answer:?}"
        );
        assert!(
            answer.nearest.iter().all(|call| call.starts_with("tools.")),
            "{answer:?}"
        );
    }
}

#[test]
fn short_forms_and_letters_that_are_wrong_or_missing_are_understood() {
    let catalog = catalog();
    for (text, tool) in [
        ("slk pst msg", "slack.slack_post_message"),
        ("creat pul reqest", "github.create_pull_request"),
        ("serch repostories", "github.search_repositories"),
        ("knowlegde grpah", "memory.read_graph"),
    ] {
        let found = names(&catalog, text, None, 5);
        assert!(found.iter().any(|name| name == tool), "{text}: {found:?}");
    }
}

#[test]
fn words_that_no_tool_contains_match_by_meaning() {
    let catalog = catalog();
    for (text, tool) in [
        (
            "vulnerable third party packages",
            "github.list_dependabot_alerts",
        ),
        (
            "put a new folder on the disk",
            "filesystem.create_directory",
        ),
        ("who wrote each line of a source", "github.get_file_blame"),
    ] {
        let found = names(&catalog, text, None, 10);
        assert!(found.iter().any(|name| name == tool), "{text}: {found:?}");
    }
}

#[test]
fn of_tools_about_one_thing_those_with_the_requested_action_come_first() {
    let catalog = searchable(vec![named("drive", &["access_get", "access_set"])]);
    for (text, first) in [
        ("who has access", "drive.access_get"),
        ("share access", "drive.access_set"),
        ("share the access", "drive.access_set"),
    ] {
        assert_eq!(names(&catalog, text, None, 1), [first], "{text}");
    }
}

#[test]
fn of_tools_with_one_name_those_of_the_server_on_the_topic_come_first() {
    let catalog = searchable(vec![
        named("alpha", &["brew_coffee", "grind_beans", "machine_restart"]),
        named("beta", &["list_nodes", "drain_cluster", "machine_restart"]),
    ]);
    for (text, first) in [
        ("restart the espresso machine", "alpha.machine_restart"),
        ("restart the kubernetes machine", "beta.machine_restart"),
    ] {
        assert_eq!(names(&catalog, text, None, 1), [first], "{text}");
    }
}

#[test]
fn a_server_with_many_tools_of_one_name_leaves_a_place_to_another_server() {
    let crowd: Vec<String> = (0..60).map(|number| format!("echo_{number}")).collect();
    let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
    let catalog = searchable(vec![
        named("crowd", &crowd),
        named("ok", &["echo_all", "sum"]),
    ]);
    let of = |text: &str, limit: usize| names(&catalog, text, None, limit);
    let first = of("echo", 5);
    assert!(first[..4].iter().all(|name| name.starts_with("crowd.")));
    assert_eq!(first[4], "ok.echo_all", "{first:?}");
    // A longer answer begins with the shorter one and has every tool once.
    for limit in [7, 20, 30, 200] {
        let all = of("echo", limit);
        assert_eq!(all[..5], first);
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(
            (all.len(), distinct.len()),
            (limit.min(61), limit.min(61)),
            "{all:?}"
        );
    }
    // The controls: the query names the server, or no tool of another one matches.
    assert!(!of("crowd echo", 5).contains(&"ok.echo_all".to_owned()));
    let alone = searchable(vec![named("crowd", &crowd), named("ok", &["sum"])]);
    let alone = names(&alone, "echo", None, 5);
    assert!(
        alone.iter().all(|name| name.starts_with("crowd.")),
        "{alone:?}"
    );
}

/// A server whose tools have these names and descriptions.
fn described(server: &str, tools: &[(&str, &str)]) -> ServerTools {
    let schema = json!({"type": "object"});
    let definitions = tools.iter().map(|(name, description)| {
        let tool = json!({"name": name, "description": description, "inputSchema": schema});
        definition(server, &tool)
    });
    ServerTools::new(ServerName::from(server), definitions.collect(), None)
}

#[test]
fn tools_of_one_text_leave_places_to_others_whatever_servers_they_are_of() {
    let names_of_copies: Vec<String> = ('a'..='l').map(|letter| format!("echo_{letter}")).collect();
    let text = "Echoes the text that it is given, quickly and safely.";
    let copies: Vec<(&str, &str)> = names_of_copies.iter().map(|name| (&**name, text)).collect();
    let servers = ["alfa", "bravo", "carol"].map(|server| described(server, &copies));
    let honest = [("echo", "Sends a message back."), ("sum", "Adds numbers.")];
    for together in 1..=3 {
        let mut lists = servers[..together].to_vec();
        lists.push(described("ok", &honest));
        let catalog = searchable(lists);
        let first = names(&catalog, "echo", None, 5);
        assert!(first.contains(&"ok.echo".to_owned()), "{first:?}");
        // The control: the query names a server, so its tools may be alike.
        let named = names(&catalog, "alfa echo", None, 5);
        let of_alfa = named.iter().filter(|name| name.starts_with("alfa."));
        assert_eq!(of_alfa.count(), 5, "{named:?}");
    }
    // The control: without another tool that fits, the places are not left empty.
    let first = names(&searchable(servers[..2].to_vec()), "echo", None, 5);
    assert_eq!(first.len(), 5);
}

#[test]
fn tools_with_next_to_nothing_of_the_query_are_not_relevant_and_stay_behind_those_that_are() {
    let catalog = searchable(vec![
        described(
            "git",
            &[
                ("git_log", "Shows the commit logs"),
                ("git_commit", "Records changes to the repository"),
            ],
        ),
        described(
            "filesystem",
            &[
                ("read_file", "Read the complete contents of a file"),
                ("write_file", "Create a new file or overwrite one"),
                ("list_directory", "List files and folders in a directory"),
            ],
        ),
        described(
            "everything",
            &[
                ("get-sum", "Returns the sum of two numbers"),
                ("echo", "Echoes back the input"),
            ],
        ),
    ]);
    let answer = |text| catalog.search(&SearchQuery::new(text));
    for (text, shown, others) in [
        ("read a file", "filesystem.read_file", 3),
        ("add two numbers", "everything.get-sum", 0),
        ("commit", "git.git_commit", 0),
    ] {
        let answer = answer(text);
        let first = answer.hits[0].tool.id().to_string();
        assert_eq!(first, shown, "{text}");
        assert_eq!(answer.hits.len(), answer.total, "{text}");
        let behind = answer.total - answer.relevant;
        assert!(
            answer.relevant > 0 && behind >= others,
            "{text}: {answer:?}"
        );
        assert_eq!(answer.nearest, [""; 0], "{text}");
        // The same with fewer hits, of which none is shown that is not relevant.
        let limit = 1;
        let one = catalog.search(&SearchQuery {
            limit,
            ..SearchQuery::new(text)
        });
        assert_eq!((one.hits.len(), one.relevant), (1, 1), "{text}");
    }
    let nothing = answer("send an email");
    assert_eq!(nothing.relevant, 0, "{nothing:?}");
    assert!(!nothing.nearest.is_empty(), "{nothing:?}");
    // The control: without words every tool is listed.
    let all = answer("");
    assert_eq!((all.relevant, all.total), (7, 7));
}

#[test]
fn a_tool_whose_author_wrote_the_query_into_its_text_hides_no_other_with_all_its_words() {
    let text = "commit changes to the repository";
    let catalog = searchable(vec![
        described("bad", &[("commit_changes_to_the_repository", text)]),
        described(
            "git",
            &[("git_commit", "Records changes to the repository")],
        ),
    ]);
    let answer = catalog.search(&SearchQuery::new(text));
    let relevant = answer.hits.iter().take(answer.relevant);
    let relevant: Vec<_> = relevant.map(|hit| hit.tool.id().to_string()).collect();
    assert!(
        relevant.contains(&"git.git_commit".to_owned()),
        "{answer:?}"
    );
}

#[test]
fn equal_scores_come_in_the_order_of_names() {
    let catalog = searchable(vec![
        named("b", &["x_two", "x_one"]),
        named("a", &["x_two", "x_one"]),
    ]);
    let answer = catalog.search(&SearchQuery {
        evidence: Evidence::Words,
        ..SearchQuery::new("x")
    });
    let found: Vec<_> = answer
        .hits
        .iter()
        .map(|hit| hit.tool.id().to_string())
        .collect();
    assert_eq!(found, ["a.x_one", "a.x_two", "b.x_one", "b.x_two"]);
}

#[test]
fn hidden_tools_change_no_rank_and_no_score() {
    let whole = catalog();
    let hidden = |id: &ToolId| id.server.as_str() != "gitlab" && !id.tool.contains("issue");
    let seen = whole.only(hidden);
    let lists = whole.catalog().servers().map(|server| {
        let tools = server.tools().iter().filter(|tool| hidden(tool.id()));
        let definitions = tools.map(|tool| tool.definition().clone()).collect();
        ServerTools::new(server.name().clone(), definitions, None)
    });
    let never = searchable(lists.collect());
    for text in [
        "list issues",
        "merge request",
        "gitlab",
        "creat isue",
        "accept a proposed change",
    ] {
        let [seen, never] = [&seen, &never].map(|catalog| {
            let answer = catalog.search(&SearchQuery::new(text));
            let hits = answer.hits.iter();
            let hits: Vec<_> = hits.map(|hit| (hit.tool.id().clone(), hit.score)).collect();
            (hits, answer.total, answer.nearest)
        });
        assert_eq!(seen, never, "{text}");
        assert!(
            !seen.0.is_empty() && seen.0.iter().all(|(id, _)| hidden(id)),
            "{text}"
        );
    }
    let all = whole.only(|_| true);
    assert!(Arc::ptr_eq(whole.catalog(), all.catalog()));
}

#[test]
fn any_query_is_answered() {
    let catalog = catalog();
    let long = "é".repeat(limits::QUERY_BYTES_MAX);
    for text in [
        "",
        "a",
        "the",
        "\u{0}\u{202e}",
        "((",
        "\"",
        "ﷺ",
        "日本語",
        "a b c d e f g",
        &long,
        &"x ".repeat(5_000),
    ] {
        catalog.search(&SearchQuery {
            server: None,
            limit: usize::MAX,
            ..SearchQuery::new(text)
        });
    }
    SearchableCatalog::default().search(&SearchQuery {
        server: None,
        limit: 5,
        ..SearchQuery::new("read file")
    });
}

/// Not a benchmark: a guard against work that grows with the square of the number of tools.
#[test]
fn three_thousand_tools_are_indexed_and_searched_soon() {
    let lists =
        ["github", "gitlab"].map(|name| catalog().catalog().server(&name.into()).unwrap().clone());
    let servers = (0..10).flat_map(|copy| {
        lists.iter().map(move |list| {
            let definitions = list.tools().iter().map(|tool| {
                let mut definition = tool.definition().clone();
                definition.id.server = format!("{}{copy}", list.name()).as_str().into();
                definition
            });
            let definitions = definitions.collect::<Vec<_>>();
            let name = definitions[0].id.server.clone();
            ServerTools::new(name, definitions, None)
        })
    });
    let catalog = searchable(servers.collect());
    assert!(catalog.catalog().tools().count() > 3_000);
    let start = Instant::now();
    names(&catalog, "warm", None, 1);
    let built = start.elapsed();
    let start = Instant::now();
    for (query, _) in FIRST {
        names(&catalog, query, None, 10);
    }
    let each = start.elapsed() / FIRST.len() as u32;
    println!("index {built:?}, query {each:?}");
    assert!(
        built.as_millis() < 60_000 && each.as_millis() < 5_000,
        "index {built:?}, query {each:?}"
    );
}

#[test]
fn similarity_of_the_caller_replaces_that_of_the_table() {
    let catalog = catalog();
    let tools: Vec<_> = catalog
        .catalog()
        .tools()
        .map(|tool| tool.id().to_string())
        .collect();
    let wanted = tools
        .iter()
        .position(|tool| tool == "git.git_commit")
        .unwrap();
    let mut similarity = vec![0.0; tools.len()];
    similarity[wanted] = 0.9;
    let answer = |text, similarity| {
        catalog.search(&SearchQuery {
            similarity,
            ..SearchQuery::new(text)
        })
    };
    let found = answer("zqxv wkjq", Some(&similarity[..]));
    assert_eq!(found.total, 1);
    assert_eq!(found.hits[0].tool.id().to_string(), "git.git_commit");
    // The controls: without it nothing is found, and a list of another length is ignored.
    assert_eq!(answer("zqxv wkjq", None).total, 0);
    assert_eq!(answer("zqxv wkjq", Some(&similarity[1..])).total, 0);
    // Words still count.
    let found = answer("merge pull request", Some(&similarity[..]));
    let first = found.hits[0].tool.id().to_string();
    assert_eq!(first, "github.merge_pull_request");
}
