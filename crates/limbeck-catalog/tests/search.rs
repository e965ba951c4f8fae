//! Searching real tool lists finds what a person would pick.

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{catalog, named};
use limbeck_catalog::{Catalog, Evidence, ResolveError, SearchQuery, ServerTools};
use limbeck_domain::{ToolId, limits};

fn names(catalog: &Catalog, text: &str, server: Option<&str>, limit: usize) -> Vec<String> {
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

/// Query, then tools of which one must be first, or among the first three.
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
fn labelled_queries_find_their_tool_first() {
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
fn a_server_filter_leaves_the_others_out_and_an_unknown_one_is_said() {
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
fn without_a_hit_the_nearest_names_are_told_and_no_answer_is_empty() {
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
fn words_that_no_tool_has_find_what_they_mean() {
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
fn equal_scores_come_in_the_order_of_names() {
    let catalog = Catalog::new(vec![
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
fn what_may_not_be_seen_changes_no_rank_and_no_score() {
    let whole = Arc::new(catalog());
    let hidden = |id: &ToolId| id.server.as_str() != "gitlab" && !id.tool.contains("issue");
    let seen = whole.only(hidden);
    let lists = whole.servers().map(|server| {
        let tools = server.tools().iter().filter(|tool| hidden(tool.id()));
        let definitions = tools.map(|tool| tool.definition().clone()).collect();
        ServerTools::new(server.name().clone(), definitions, None)
    });
    let never = Catalog::new(lists.collect());
    for text in [
        "list issues",
        "merge request",
        "gitlab",
        "creat isue",
        "accept a proposed change",
    ] {
        let [seen, never] = [&*seen, &never].map(|catalog| {
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
    assert!(Arc::ptr_eq(&whole, &whole.only(|_| true)));
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
    Catalog::default().search(&SearchQuery {
        server: None,
        limit: 5,
        ..SearchQuery::new("read file")
    });
}

/// Not a benchmark: a guard against work that grows with the square of the catalogue.
#[test]
fn three_thousand_tools_are_indexed_and_searched_soon() {
    let lists = ["github", "gitlab"].map(|name| catalog().server(&name.into()).unwrap().clone());
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
    let catalog = Catalog::new(servers.collect());
    assert!(catalog.tools().count() > 3_000);
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
        built.as_millis() < 3_000 && each.as_millis() < 100,
        "index {built:?}, query {each:?}"
    );
}

#[test]
fn likeness_that_is_given_takes_the_place_of_the_tables() {
    let catalog = catalog();
    let tools: Vec<_> = catalog.tools().map(|tool| tool.id().to_string()).collect();
    let wanted = tools
        .iter()
        .position(|tool| tool == "git.git_commit")
        .unwrap();
    let mut likeness = vec![0.0; tools.len()];
    likeness[wanted] = 0.9;
    let answer = |text, likeness| {
        catalog.search(&SearchQuery {
            likeness,
            ..SearchQuery::new(text)
        })
    };
    let found = answer("zqxv wkjq", Some(&likeness[..]));
    assert_eq!(found.total, 1);
    assert_eq!(found.hits[0].tool.id().to_string(), "git.git_commit");
    // The controls: without it nothing is found, and one of another catalogue does not count.
    assert_eq!(answer("zqxv wkjq", None).total, 0);
    assert_eq!(answer("zqxv wkjq", Some(&likeness[1..])).total, 0);
    // Words count beside it.
    let found = answer("merge pull request", Some(&likeness[..]));
    let first = found.hits[0].tool.id().to_string();
    assert_eq!(first, "github.merge_pull_request");
}
