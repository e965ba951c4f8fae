//! A name in any style finds the tool that is meant, and no other.

mod common;

use common::{catalog, named};
use limbeck_catalog::{Catalog, ResolveError};
use limbeck_domain::{CallCode, CallError, CallForm, ToolTarget};

fn target(server: Option<&str>, tool: &str) -> ToolTarget {
    ToolTarget {
        server: server.map(str::to_owned),
        tool: tool.to_owned(),
        form: CallForm::Value,
    }
}

fn found(catalog: &Catalog, server: Option<&str>, tool: &str) -> (String, Option<String>) {
    let resolved = catalog
        .resolve(&target(server, tool))
        .expect("the name resolves");
    (resolved.tool.id().to_string(), resolved.note)
}

fn refused(catalog: &Catalog, server: Option<&str>, tool: &str) -> CallError {
    let error = catalog.resolve(&target(server, tool));
    error.expect_err("the name does not resolve").into()
}

#[test]
fn exact_names_resolve_without_a_note_and_other_styles_with_one() {
    let catalog = catalog();
    let exact = found(&catalog, Some("filesystem"), "read_text_file");
    assert_eq!(exact, ("filesystem.read_text_file".into(), None));
    for style in [
        "readTextFile",
        "read-text-file",
        "READ_TEXT_FILE",
        "ReadTextFile",
    ] {
        let (id, note) = found(&catalog, Some("filesystem"), style);
        assert_eq!(id, "filesystem.read_text_file");
        assert_eq!(
            note.unwrap(),
            format!("`{style}` resolved to `read_text_file`")
        );
    }
    let (id, note) = found(&catalog, Some("FileSystem"), "readFile");
    assert_eq!(id, "filesystem.read_file");
    assert_eq!(
        note.unwrap(),
        "`FileSystem` resolved to `filesystem`, `readFile` resolved to `read_file`"
    );
}

#[test]
fn full_names_are_parted_at_the_longest_server_that_fits() {
    let catalog = Catalog::new(vec![
        named("a", &["b__c", "x"]),
        named("a__b", &["c", "d"]),
        named("my-server.v2", &["weird name", "mcp__a__x"]),
    ]);
    for (name, id) in [
        ("mcp__a__b__c", "a__b.c"),
        ("mcp__a__x", "a.x"),
        ("mcp__my_server_v2__weird_name", "my-server.v2.weird name"),
        ("mcp__my-server.v2__mcp__a__x", "my-server.v2.mcp__a__x"),
        ("my-server.v2.weird name", "my-server.v2.weird name"),
        ("a/x", "a.x"),
        ("a.x", "a.x"),
        ("a__x", "a.x"),
    ] {
        assert_eq!(found(&catalog, None, name).0, id, "{name}");
    }
}

#[test]
fn a_style_that_fits_two_names_is_an_error_that_names_both_and_exact_ones_still_work() {
    let catalog = Catalog::new(vec![
        named("s", &["read_file", "readFile", "a.b", "AB"]),
        named("x-y", &["t"]),
        named("x_y.", &["t"]),
    ]);
    assert_eq!(
        found(&catalog, Some("s"), "readFile"),
        ("s.readFile".into(), None)
    );
    let error = refused(&catalog, Some("s"), "read-file");
    assert_eq!(error.code, CallCode::UnknownTool);
    assert_eq!(
        error.message,
        "`read-file` may be any of `read_file`, `readFile` of server `s`"
    );
    // The identifier form is nearer than a form without punctuation.
    assert_eq!(found(&catalog, Some("s"), "a_b").0, "s.a.b");
    let error = refused(&catalog, Some("XY"), "t");
    assert_eq!(
        (error.code, &*error.message),
        (CallCode::UnknownServer, "`XY` may be any of `x-y`, `x_y.`")
    );
}

#[test]
fn an_unknown_tool_names_the_nearest_three_and_the_server_to_ask() {
    let catalog = catalog();
    let error = catalog
        .resolve(&target(Some("github"), "list_prs"))
        .unwrap_err();
    assert_eq!(error.server_to_ask().unwrap().as_str(), "github");
    let error = refused(&catalog, Some("filesystem"), "read_fil");
    assert_eq!(error.code, CallCode::UnknownTool);
    assert_eq!(error.message, "server `filesystem` has no tool `read_fil`");
    let hint = error.hint.unwrap();
    assert!(
        hint.starts_with("there is `tools.filesystem.read_file`, "),
        "{hint}"
    );
    assert_eq!(hint.matches("tools.").count(), 3, "{hint}");
    assert_eq!(
        (error.server.as_deref(), error.tool.as_deref()),
        (Some("filesystem"), Some("read_fil"))
    );
}

#[test]
fn an_unknown_server_names_those_like_it_and_where_the_tool_is() {
    let catalog = catalog();
    let error = refused(&catalog, Some("githib"), "no_such");
    assert_eq!(
        (error.code, &*error.message),
        (CallCode::UnknownServer, "no server is called `githib`")
    );
    assert!(error.hint.unwrap().contains("`github`"));
    let error = refused(&catalog, Some("files"), "readTextFile");
    assert!(
        error
            .hint
            .unwrap()
            .contains("tools.filesystem.read_text_file")
    );
    let error = catalog
        .resolve(&target(None, "mcp__nowhere__x"))
        .unwrap_err();
    assert!(matches!(error, ResolveError::UnknownServer { .. }) && error.server_to_ask().is_none());
}

#[test]
fn no_servers_is_said_as_such() {
    let error = refused(&Catalog::default(), Some("github"), "x");
    assert_eq!(
        (error.code, &*error.message),
        (CallCode::UnknownServer, "no servers are configured")
    );
    assert_eq!(
        Catalog::default().resolve_server("x").unwrap_err(),
        ResolveError::NoServers
    );
}

#[test]
fn hostile_names_are_answered_and_never_repeated_raw() {
    let catalog = catalog();
    for name in [
        "",
        ".",
        "__",
        "mcp__",
        "mcp____",
        "__proto__",
        "a\u{202e}\n`b`",
        &"_".repeat(100_000),
        &"a.".repeat(50_000),
    ] {
        for server in [None, Some("github"), Some(name)] {
            let error = refused(&catalog, server, name);
            assert!(error.message.len() < 400, "{}", error.message.len());
            assert!(!error.message.contains(['\u{202e}', '\n']));
        }
    }
}

#[test]
fn of_tools_with_one_name_the_first_is_kept() {
    let catalog = Catalog::new(vec![named("s", &["t", "u", "t"])]);
    assert_eq!(catalog.tools().count(), 2);
}
