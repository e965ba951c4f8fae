//! A name in any style resolves to the right tool and to no other.

use std::sync::Arc;

use crate::common::{catalog, named};
use limbeck_captures::definition;
use limbeck_catalog::{Absences, AbsentServer, Catalog, ResolveError, ServerTools};
use limbeck_domain::{CallCode, CallError, CallForm, ServerName, ToolRules, ToolTarget};
use serde_json::json;

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
fn the_indexes_of_names_find_the_same_tools_as_a_look_at_all_of_them() {
    let catalog = Catalog::new(vec![named(
        "my-server",
        &["read_file", "a.b", "a-b", "x_2"],
    )]);
    let by_index = |server: Option<&str>, tool: &str| {
        let resolved = catalog.resolve_by_index(&target(server, tool))?;
        Some((resolved.tool.id().to_string(), resolved.note))
    };
    for (server, tool) in [
        ("my-server", "read_file"),
        ("my_server", "readFile"),
        ("MyServer", "x_2"),
        ("my-server", "a-b"),
    ] {
        let all = found(&catalog, Some(server), tool);
        assert_eq!(by_index(Some(server), tool), Some(all), "{server} {tool}");
    }
    // The style of two names, a number, no tool, no server, and a name without its server.
    for (server, tool) in [
        (Some("my-server"), "aB"),
        (Some("my-server"), "a_b_2"),
        (Some("my-server"), "read"),
        (Some("other"), "read_file"),
        (None, "read_file"),
    ] {
        assert_eq!(by_index(server, tool), None, "{server:?} {tool}");
    }
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
fn the_name_of_the_server_before_that_of_its_tool_is_left_out() {
    let catalog = Catalog::new(vec![
        named("my-files", &["read_file", "my_files_list"]),
        named("other", &["write_file"]),
        restricted("off", &["push"], &["push"]),
    ]);
    for name in [
        "my_files_readFile",
        "myFiles_readFile",
        "my_files__read_file",
    ] {
        let (tool, note) = found(&catalog, Some("my-files"), name);
        assert_eq!(tool, "my-files.read_file", "{name}");
        assert!(note.unwrap().contains("resolved to"), "{name}");
    }
    // A tool that has the server's name in its own is found by that.
    assert_eq!(
        found(&catalog, Some("my-files"), "my_files_list").0,
        "my-files.my_files_list"
    );
    for name in ["other_write_file", "my_files_write_file", "my_files_"] {
        let refused = refused(&catalog, Some("my-files"), name);
        assert_eq!(refused.code, CallCode::UnknownTool, "{name}");
    }
    let refused = refused(&catalog, Some("off"), "off_push");
    assert_eq!(refused.code, CallCode::Denied);
}

#[test]
fn full_names_are_split_at_the_longest_matching_server() {
    let catalog = Catalog::new(vec![
        named("a", &["x"]),
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
fn a_style_of_two_names_is_an_error_that_names_both_and_exact_names_still_work() {
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
        "`read-file` is ambiguous: it matches `read_file`, `readFile` of server `s`"
    );
    // The identifier form is nearer than a form without punctuation.
    assert_eq!(found(&catalog, Some("s"), "a_b").0, "s.a.b");
    let error = refused(&catalog, Some("XY"), "t");
    assert_eq!(
        (error.code, &*error.message),
        (
            CallCode::UnknownServer,
            "`XY` is ambiguous: it matches `x-y`, `x_y.`"
        )
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
        hint.starts_with("try `tools.filesystem.read_file`, "),
        "{hint}"
    );
    assert_eq!(hint.matches("tools.").count(), 3, "{hint}");
    assert_eq!(
        (error.server.as_deref(), error.tool.as_deref()),
        (Some("filesystem"), Some("read_fil"))
    );
}

#[test]
fn the_error_of_an_unknown_server_has_similar_names_and_other_servers_of_the_tool() {
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
fn a_catalog_without_servers_has_its_own_error() {
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

#[test]
fn an_exact_full_name_comes_before_a_style_and_two_exact_ones_are_refused() {
    let catalog = Catalog::new(vec![
        named("a", &["b__c", "b.c"]),
        named("a__b", &["c"]),
        named("x", &["y.z"]),
        named("x.y", &["Z"]),
    ]);
    let error = refused(&catalog, None, "mcp__a__b__c");
    assert_eq!(error.code, CallCode::UnknownTool);
    assert!(error.message.contains("is ambiguous"), "{}", error.message);
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("tools.a.b__c") && hint.contains("tools.a__b.c"),
        "{hint}"
    );
    // Server `a` has exactly `b.c`; `a.b` is only a style of `a__b`.
    assert_eq!(found(&catalog, None, "a.b.c"), ("a.b.c".into(), None));
    assert_eq!(found(&catalog, None, "x.y.z"), ("x.y.z".into(), None));
    // The control: a name with one meaning, in any style.
    assert_eq!(found(&catalog, None, "x.y.Z").0, "x.y.Z");
    assert_eq!(found(&catalog, Some("a__b"), "c").0, "a__b.c");
}

#[test]
fn an_absent_server_resolves_to_nothing_and_explains_only_its_exact_name() {
    let absences = Absences {
        servers: [(
            ServerName::from("git_hub"),
            AbsentServer {
                reason: "the user has not trusted it yet".to_owned(),
                hint: Some("the user reviews it with `limbeck trust`".to_owned()),
                tools: Arc::default(),
            },
        )]
        .into(),
        notices: Vec::new(),
    };
    let catalog = Arc::new(
        Catalog::new(vec![named("git-hub", &["list"]), named("other", &["list"])])
            .with_absences(Arc::new(absences)),
    );
    // A style of the usable server stays with it.
    assert_eq!(found(&catalog, Some("GitHub"), "list").0, "git-hub.list");
    assert_eq!(found(&catalog, Some("git_hub"), "list").0, "git-hub.list");
    let catalog = catalog.only(|tool| tool.server.as_str() == "other");
    let catalog =
        Catalog::new(vec![named("other", &["list"])]).with_absences(Arc::clone(catalog.absences()));
    for (server, tool) in [(Some("git_hub"), "list"), (None, "git_hub.list")] {
        let error = refused(&catalog, server, tool);
        assert_eq!(error.code, CallCode::ServerUnavailable);
        assert!(error.message.contains("not trusted"), "{}", error.message);
    }
    let error = refused(&catalog, Some("gitub"), "nothing");
    assert_eq!(error.code, CallCode::UnknownServer);
    assert!(!error.hint.unwrap_or_default().contains("git_hub"));
}

#[test]
fn a_tool_that_the_entry_switches_off_is_refused_as_such() {
    let rules = ToolRules {
        except: vec!["push".to_owned()],
        ..ToolRules::default()
    };
    let list = ["log", "push"].map(|name| definition("git", &json!({"name": name})));
    let server = ServerTools::allowed_by(&rules, "git".into(), list.into(), None);
    assert_eq!(server.switched_off(), ["push".into()]);
    let catalog = Arc::new(Catalog::new(vec![server]));
    for catalog in [
        Arc::clone(&catalog),
        catalog.only(|tool| &*tool.tool != "x"),
    ] {
        for name in ["push", "Push"] {
            let error = refused(&catalog, Some("git"), name);
            assert_eq!(error.code, CallCode::Denied);
            assert!(
                error.message.contains("is switched off"),
                "{}",
                error.message
            );
        }
        assert_eq!(refused(&catalog, None, "git.push").code, CallCode::Denied);
        // The controls.
        assert_eq!(found(&catalog, Some("git"), "log").0, "git.log");
        assert_eq!(
            refused(&catalog, Some("git"), "pull").code,
            CallCode::UnknownTool
        );
    }
}

/// A server whose entry switches off the tools `off`.
fn restricted(name: &str, tools: &[&str], off: &[&str]) -> ServerTools {
    let rules = ToolRules {
        except: off.iter().map(|&tool| tool.to_owned()).collect(),
        ..ToolRules::default()
    };
    let list = tools
        .iter()
        .map(|tool| definition(name, &json!({"name": tool})));
    ServerTools::allowed_by(&rules, name.into(), list.collect(), None)
}

#[test]
fn a_name_that_is_switched_off_does_not_lead_to_another_tool() {
    let catalog = Catalog::new(vec![
        restricted(
            "up",
            &["delete_all", "get_item", "getItem", "echo"],
            &["delete_all", "get_item"],
        ),
        named("other", &["delete_all", "list"]),
    ]);
    for (server, tool) in [
        (None, "delete_all"),
        (Some("up"), "get_item"),
        (Some("up"), "Get-Item"),
        (None, "up.get_item"),
        (None, "get_item"),
    ] {
        let error = refused(&catalog, server, tool);
        assert_eq!(error.code, CallCode::Denied, "{tool}");
        assert!(
            error.message.contains("is switched off"),
            "{}",
            error.message
        );
    }
    let hint = refused(&catalog, None, "delete_all").hint.unwrap();
    assert!(hint.contains("`tools.other.delete_all`"), "{hint}");
    // The controls: exact names, and names that no switched-off tool has.
    for (server, tool, expected) in [
        (Some("other"), "delete_all", "other.delete_all"),
        (None, "other.delete_all", "other.delete_all"),
        (Some("up"), "getItem", "up.getItem"),
        (None, "getItem", "up.getItem"),
        (Some("up"), "Echo", "up.echo"),
        (None, "list", "other.list"),
    ] {
        assert_eq!(found(&catalog, server, tool).0, expected);
    }
}

#[test]
fn a_name_without_a_server_is_certain_only_when_the_tools_of_every_server_are_known() {
    let evil = || named("evil", &["pay", "list"]);
    let unlisted = || ServerTools::unlisted(ServerName::from("bank"));
    let catalog = Catalog::new(vec![evil(), unlisted()]);
    for name in ["pay", "Pay"] {
        let error = refused(&catalog, None, name);
        assert_eq!(error.code, CallCode::UnknownTool);
        assert_eq!(
            error.message,
            format!("`{name}` may be a tool of another server: the tools of `bank` are not known")
        );
        assert_eq!(
            error.hint.as_deref(),
            Some("write `tools.evil.pay` if you mean the tool of server `evil`")
        );
    }
    // The controls: with a server, without the other one, and with its list, even an empty one.
    assert_eq!(found(&catalog, Some("evil"), "pay").0, "evil.pay");
    assert_eq!(found(&catalog, None, "evil.pay").0, "evil.pay");
    let within = catalog.within(|server| server.as_str() == "evil", |_| true);
    assert_eq!(found(&within, None, "pay").0, "evil.pay");
    for bank in [named("bank", &["balance"]), named("bank", &[])] {
        let catalog = Catalog::new(vec![evil(), bank]);
        assert_eq!(found(&catalog, None, "pay").0, "evil.pay");
    }
}

#[test]
fn a_name_without_a_server_is_uncertain_where_a_disabled_server_had_such_a_tool() {
    let absent = |tools: &[&str]| {
        let absence = AbsentServer {
            reason: "it is disabled in its configuration entry".to_owned(),
            hint: None,
            tools: tools.iter().map(|&tool| Arc::from(tool)).collect(),
        };
        let absences = Absences {
            servers: [(ServerName::from("bank"), absence)].into(),
            notices: Vec::new(),
        };
        Catalog::new(vec![named("evil", &["pay"])]).with_absences(Arc::new(absences))
    };
    let had_one = absent(&["balance", "pay"]);
    let error = refused(&had_one, None, "pay");
    assert_eq!(
        error.message,
        "`pay` may be a tool of another server: `bank` had one when last listed and is disabled"
    );
    // The controls: a full name, other tools alone, another style of the exact name, and a scope without the tool.
    assert_eq!(found(&had_one, Some("evil"), "pay").0, "evil.pay");
    for tools in [&["balance"][..], &[], &["Pay"]] {
        assert_eq!(found(&absent(tools), None, "pay").0, "evil.pay");
    }
    let narrowed = had_one.within(|_| true, |tool| tool.server.as_str() == "evil");
    assert_eq!(found(&narrowed, None, "pay").0, "evil.pay");
}

#[test]
fn a_numbered_name_stays_with_its_tool_when_another_is_switched_off_or_outside_of_a_scope() {
    let tools = ["a.b", "a-b", "A B"];
    let numbered = [("a_b_2", "a-b"), ("a_b_3", "A B")];
    for off in tools {
        let catalog = Catalog::new(vec![restricted("s", &tools, &[off])]);
        for (asked, tool) in numbered {
            if tool == off {
                let error = refused(&catalog, Some("s"), asked);
                assert_eq!(error.code, CallCode::Denied, "{asked}");
            } else {
                let expected = format!("s.{tool}");
                assert_eq!(
                    found(&catalog, Some("s"), asked).0,
                    expected,
                    "without {off}"
                );
            }
        }
    }
    let all = Catalog::new(vec![named("s", &tools)]);
    let narrowed = all.within(|_| true, |tool| &*tool.tool != "a-b");
    let error = refused(&narrowed, Some("s"), "a_b_2");
    assert_eq!(error.code, CallCode::UnknownTool);
    assert_eq!(found(&narrowed, Some("s"), "a_b_3").0, "s.A B");
    // The control: with all of them.
    for (asked, tool) in numbered {
        assert_eq!(found(&all, Some("s"), asked).0, format!("s.{tool}"));
    }
}

#[test]
fn a_full_name_of_a_tool_that_is_switched_off_is_not_split_in_another_way() {
    let other = || named("a__b", &["c"]);
    let off = Catalog::new(vec![restricted("a", &["b__c", "d"], &["b__c"]), other()]);
    assert_eq!(refused(&off, None, "mcp__a__b__c").code, CallCode::Denied);
    // The controls: the other tool by its own name, and the same full name where no tool is switched off.
    assert_eq!(found(&off, Some("a__b"), "c").0, "a__b.c");
    let without = Catalog::new(vec![named("a", &["d"]), other()]);
    assert_eq!(found(&without, None, "mcp__a__b__c").0, "a__b.c");
}

#[test]
fn letters_in_the_wrong_order_are_nearer_than_other_words() {
    let servers = ["fetch", "git", "time", "tools"].map(|name| named(name, &["t"]));
    let catalog = Catalog::new(servers.into());
    let hint = refused(&catalog, Some("gti"), "t2").hint.unwrap();
    assert!(
        hint.starts_with("servers with a similar name: `git`"),
        "{hint}"
    );
}

#[test]
fn a_tool_of_another_server_is_named_as_such_and_never_as_the_one_that_was_meant() {
    let shadow = Catalog::new(vec![
        named("bad", &["read_file"]),
        named("calendar", &["list"]),
        named("mail", &["list"]),
        named("notes", &["list"]),
    ]);
    let foreign = "other servers have a tool of this name, call it only if you mean that server: \
                   `tools.bad.read_file`";
    for (server, tool) in [
        (Some("filesystem"), "read_file"),
        (None, "mcp__filesystem__read_file"),
        (None, "filesystem.readFile"),
    ] {
        let error = refused(&shadow, server, tool);
        assert_eq!(error.message, "no server is called `filesystem`");
        assert_eq!(error.hint.as_deref(), Some(foreign));
    }
    // The control: with a server of a similar name that server comes first, and its tool before the other's.
    let typed = Catalog::new(vec![
        named("bad", &["read_file"]),
        named("filesystem", &["read_file"]),
    ]);
    let hint = refused(&typed, Some("filesytem"), "read_file")
        .hint
        .unwrap();
    assert_eq!(
        hint,
        "servers with a similar name: `filesystem`, try `tools.filesystem.read_file`; other servers have a tool of this name, \
         call it only if you mean that server: `tools.bad.read_file`"
    );
    // Without either, the servers that there are.
    let hint = refused(&shadow, Some("zzzz"), "nothing").hint.unwrap();
    assert_eq!(
        hint,
        "configured servers: `bad`, `calendar`, `mail` and 1 more"
    );
}
