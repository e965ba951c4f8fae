//! The user's own file, changed by commands: nothing else in it changes, and nothing is written by halves.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use limbeck_domain::{EffectClass, ToolId};
use limbeck_policy::rules::Effect;
use limbeck_setup::{
    AllowedCalls, Existing, ImportFailure, NewServer, OwnFile, OwnFileError, Transport, World,
};

use serde_json::json;

use crate::{TestProject, world};

const OWN: &str = "home/.config/limbeck/config.toml";

fn own_world(project: &TestProject) -> World {
    world(project.path("home"), project.path("project"))
}

fn stdio(command: &str, args: &[&str]) -> NewServer {
    NewServer::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
        cwd: None,
    }
}

fn content(project: &TestProject) -> String {
    std::fs::read_to_string(project.path(OWN)).unwrap()
}

#[test]
fn servers_are_added_and_removed_and_everything_else_stays() {
    let before = "# my servers\n\n[limits]  # short ones\nwall_ms = 5_000\n\n# the one for git\n[servers.git]\ncommand = 'git-server' # found in PATH\n\n\n[sandbox]\nminimum_tier = \"strict\"\n# the end\n";
    let project = TestProject::new().file(OWN, before);
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let remote = NewServer::Http {
        url: "https://a.example/mcp".to_owned(),
        headers: vec![("Authorization".to_owned(), "Bearer env:TOKEN".to_owned())],
    };
    own.add(
        "files",
        &stdio("npx", &["-y", "server-files", "a b"]),
        Existing::Keep,
    )
    .unwrap();
    own.add("far.away", &remote, Existing::Keep).unwrap();
    insta::assert_snapshot!(content(&project), @r#"
    # my servers

    [limits]  # short ones
    wall_ms = 5_000

    # the one for git
    [servers.git]
    command = 'git-server' # found in PATH

    [servers.files]
    command = "npx"
    args = ["-y", "server-files", "a b"]

    [servers."far.away"]
    url = "https://a.example/mcp"
    headers = { Authorization = "Bearer env:TOKEN" }


    [sandbox]
    minimum_tier = "strict"
    # the end
    "#);
    let found = project.load(&[]).unwrap();
    let names: Vec<_> = found.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["git", "files", "far.away"]);
    assert!(found.servers.iter().all(|server| server.definition.is_ok()));
    let mode = std::fs::metadata(project.path(OWN))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let error = own
        .add("git", &stdio("x", &[]), Existing::Keep)
        .unwrap_err();
    assert!(matches!(error, OwnFileError::Exists { .. }), "{error}");
    own.remove("files").unwrap();
    own.remove("far.away").unwrap();
    assert_eq!(content(&project), before);
    // A comment above an entry may be about more than the entry.
    own.remove("git").unwrap();
    let after = content(&project);
    for comment in [
        "# my servers",
        "# short ones",
        "# the one for git",
        "# the end",
    ] {
        assert!(after.contains(comment), "{comment}: {after}");
    }
    assert!(project.load(&[]).unwrap().servers.is_empty());
    let error = own.remove("git").unwrap_err();
    assert!(matches!(error, OwnFileError::Missing { .. }), "{error}");
}

#[test]
fn a_replaced_entry_keeps_the_comments_above_it() {
    let project = TestProject::new().file(
        OWN,
        "# old\n[servers.a]\ncommand = 'x'\nexpose = 'direct'\n",
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    own.add("a", &stdio("y", &[]), Existing::Replace).unwrap();
    assert_eq!(content(&project), "# old\n[servers.a]\ncommand = \"y\"\n");
}

#[test]
fn a_new_file_and_its_directory_are_made_for_their_owner_alone() {
    let project = TestProject::new();
    let own_world = own_world(&project);
    OwnFile::of(&own_world)
        .unwrap()
        .add("a", &stdio("x", &[]), Existing::Keep)
        .unwrap();
    for (name, mode) in [("home/.config/limbeck", 0o700), (OWN, 0o600)] {
        let permissions = std::fs::metadata(project.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
    assert_eq!(content(&project), "[servers.a]\ncommand = \"x\"\n");
}

#[test]
fn a_linked_file_is_changed_where_it_is() {
    let project = TestProject::new().file("dotfiles/limbeck.toml", "# mine\n");
    std::fs::create_dir_all(project.path("home/.config/limbeck")).unwrap();
    symlink(project.path("dotfiles/limbeck.toml"), project.path(OWN)).unwrap();
    let own_world = own_world(&project);
    OwnFile::of(&own_world)
        .unwrap()
        .add("a", &stdio("x", &[]), Existing::Keep)
        .unwrap();
    assert!(project.path(OWN).is_symlink());
    let text = std::fs::read_to_string(project.path("dotfiles/limbeck.toml")).unwrap();
    assert!(
        text.contains("# mine") && text.contains("[servers.a]"),
        "{text}"
    );
}

#[test]
fn a_file_that_is_wrong_or_exposed_is_not_touched() {
    for wrong in ["[servers.a\n", "servers = 3\n", "[servers]\n[servers]\n"] {
        let project = TestProject::new().file(OWN, wrong);
        let own_world = own_world(&project);
        let own = OwnFile::of(&own_world).unwrap();
        own.add("b", &stdio("x", &[]), Existing::Keep).unwrap_err();
        own.remove("b").unwrap_err();
        assert_eq!(content(&project), wrong);
    }
    let project = TestProject::new().file(OWN, "");
    let mode = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(project.path(OWN), mode).unwrap();
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let error = own.add("b", &stdio("x", &[]), Existing::Keep).unwrap_err();
    assert!(error.to_string().contains("every user"), "{error}");
    // An entry that would not work is not written either.
    let project = TestProject::new();
    let own_world = self::own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    for (name, server) in [
        ("a", stdio("npx -y server", &[])),
        (" a", stdio("x", &[])),
        ("", stdio("x", &[])),
    ] {
        let error = own.add(name, &server, Existing::Keep).unwrap_err();
        assert!(
            matches!(error, OwnFileError::Entry { .. }),
            "{name}: {error}"
        );
    }
    assert!(!project.path(OWN).exists());
}

#[test]
fn twenty_processes_at_once_lose_no_entry() {
    let project = TestProject::new();
    let own_world = own_world(&project);
    std::thread::scope(|threads| {
        for n in 0..20 {
            let own = OwnFile::of(&own_world).unwrap();
            threads.spawn(move || {
                own.add(&format!("s{n}"), &stdio("x", &[]), Existing::Keep)
                    .unwrap()
            });
        }
    });
    assert_eq!(project.load(&[]).unwrap().servers.len(), 20);
}

#[test]
fn entries_of_clients_are_imported_as_they_are_written() {
    let project = TestProject::new().file(OWN, "# mine\n[servers.kept]\ncommand = 'mine'\n").file(
        "home/clients.json",
        r#"{ "mcpServers": {
            "git": { "command": "uvx", "args": ["mcp-server-git"], "env": { "KEY": "${TOKEN}" }, "timeout": 30 },
            "far": { "httpUrl": "https://a.example/mcp", "headers": { "Authorization": "Bearer env:T" },
                     "excludeTools": ["push"], "oauth": { "clientId": "c", "scopes": ["a"] } },
            "off": { "command": "x", "disabled": true },
            "kept": { "command": "theirs" },
            "limbeck": { "command": "limbeck", "args": ["serve"] },
            "old": { "command": "npx", "args": ["-y", "code-executor-mcp"] },
            "wrong": { "comand": "x" } } }"#,
    ).file(
        "home/codex.toml",
        "[mcp_servers.codex]\ncommand = 'x'\nenv_vars = ['TOKEN']\nenabled_tools = ['log']\nstartup_timeout_sec = 5\n[mcp_servers.codex.env]\nA = '1'\n[mcp_servers.dollar]\ncommand = 'x'\nargs = ['${HOME}']\n",
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let before = content(&project);
    let found = own.find_servers("../home/clients.json".as_ref()).unwrap();
    assert_eq!(found.workspace(), None);
    let seen = own.import(found.clone(), Existing::Keep, true).unwrap();
    assert_eq!(content(&project), before, "a dry run writes nothing");
    let done = own.import(found, Existing::Keep, false).unwrap();
    assert_eq!(seen, done);
    let left_out: Vec<_> = done
        .iter()
        .filter_map(|entry| Some((entry.name.as_str(), entry.left_out.as_ref()?)))
        .collect();
    assert!(
        matches!(
            left_out[..],
            [
                ("kept", ImportFailure::Exists { is_same: false }),
                ("limbeck", ImportFailure::Gateway),
                ("old", ImportFailure::Gateway),
                ("wrong", ImportFailure::Wrong(_)),
            ]
        ),
        "{left_out:?}"
    );
    let codex = own.find_servers("../home/codex.toml".as_ref()).unwrap();
    let codex = own.import(codex, Existing::Keep, false).unwrap();
    assert!(
        matches!(&codex[1].left_out, Some(ImportFailure::Wrong(why)) if why.contains("${")),
        "{codex:?}"
    );
    insta::assert_snapshot!(content(&project), @r#"
    # mine
    [servers.kept]
    command = 'mine'

    [servers.git]
    command = "uvx"
    args = ["mcp-server-git"]
    env = { KEY = "${TOKEN}" }
    timeout_ms = 30000

    [servers.far]
    url = "https://a.example/mcp"
    headers = { Authorization = "Bearer env:T" }
    oauth = { clientId = "c", scopes = ["a"] }
    disabled_tools = ["push"]

    [servers.off]
    command = "x"
    disabled = true

    [servers.codex]
    command = "x"
    env = { A = "1", TOKEN = "${TOKEN}" }
    start_timeout_ms = 5000
    enabled_tools = ["log"]
    "#);
    // What was imported is what the client's file meant.
    let found = project.load(&[]).unwrap();
    assert_eq!(found.diagnostics, []);
    for server in &found.servers {
        let Ok(Transport::Stdio { env, .. }) = &server.definition else {
            continue;
        };
        let has = |name: &str, value: &str| env.contains(&(name.to_owned(), value.to_owned()));
        match server.name.as_str() {
            "git" => assert!(has("KEY", "s3cret") && server.timeout_ms == Some(30_000)),
            "codex" => {
                assert!(has("TOKEN", "s3cret") && has("A", "1") && !server.tool_rules.allows("x"))
            }
            _ => {}
        }
    }
}

#[test]
fn an_entry_of_a_taken_name_is_the_same_or_another_one() {
    let project = TestProject::new()
        .file(
            OWN,
            "# mine\n[servers.same]\nargs = ['a'] # the one\ncommand = 'x'\n[servers.other]\ncommand = 'x'\n",
        )
        .file(
            "home/clients.json",
            r#"{"mcpServers": {"same": {"command": "x", "args": ["a"]}, "other": {"command": "y"}}}"#,
        );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let found = own.find_servers("../home/clients.json".as_ref()).unwrap();
    let done = own.import(found, Existing::Keep, false).unwrap();
    let left_out: Vec<_> = done.into_iter().map(|entry| entry.left_out).collect();
    assert_eq!(
        left_out,
        [
            Some(ImportFailure::Exists { is_same: true }),
            Some(ImportFailure::Exists { is_same: false }),
        ]
    );
}

#[test]
fn an_import_reports_what_reading_an_entry_reports() {
    let project = TestProject::new().file(
        "home/clients.json",
        r#"{"mcpServers": {
            "right": {"command": "x", "alwaysAllow": ["a"]},
            "file": {"command": "x", "envFile": ".env", "foo": 1},
            "asked": {"command": "x", "env": {"A": "${input:a}"}},
            "clear": {"url": "http://other.example/mcp"}}}"#,
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let found = own.find_servers("../home/clients.json".as_ref()).unwrap();
    let seen = own.import(found.clone(), Existing::Keep, true).unwrap();
    let done = own.import(found, Existing::Keep, false).unwrap();
    assert_eq!(seen, done);
    assert!(
        done.iter().all(|entry| entry.left_out.is_none()),
        "{done:?}"
    );
    let warnings = |at: usize| done[at].warnings.join("\n");
    assert_eq!(warnings(0), "");
    for key in ["envFile", "foo"] {
        assert!(warnings(1).contains(key), "{}", warnings(1));
    }
    assert!(warnings(2).contains("${input:a}"), "{}", warnings(2));
    assert!(warnings(3).contains("allow_http"), "{}", warnings(3));
}

#[test]
fn a_server_of_a_workspace_starts_there_and_one_of_the_user_does_not() {
    let servers = r#"{"servers": {
        "plain": {"command": "node", "args": ["server.js"]},
        "below": {"command": "./run.sh", "cwd": "tools"},
        "chosen": {"command": "node", "cwd": "${workspaceFolder}"},
        "remote": {"url": "https://a.example/mcp"}}}"#;
    let project = TestProject::new()
        .file("project/.vscode/mcp.json", servers)
        .file("home/.cursor/mcp.json", servers);
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let found = own.find_servers(".vscode/mcp.json".as_ref()).unwrap();
    assert_eq!(found.workspace(), Some(&*project.path("project")));
    own.import(found, Existing::Keep, false).unwrap();
    let directories = |file: &str| -> Vec<Option<String>> {
        let found = own.find_servers(file.as_ref()).unwrap();
        let done = own.import(found, Existing::Replace, false).unwrap();
        done.into_iter().map(|entry| entry.cwd).collect()
    };
    let workspace = project.path("project").display().to_string();
    assert_eq!(
        directories(".vscode/mcp.json"),
        [
            Some(workspace.clone()),
            Some(format!("{workspace}/tools")),
            Some(workspace.clone()),
            None,
        ]
    );
    let text = content(&project);
    assert_eq!(
        text.matches(&format!("cwd = {workspace:?}")).count(),
        2,
        "{text}"
    );
    // The control.
    assert_eq!(
        directories("../home/.cursor/mcp.json"),
        [None, None, None, None]
    );
    assert!(!content(&project).contains(&workspace));
}

#[test]
fn servers_of_single_projects_are_listed_and_not_copied() {
    let project = TestProject::new().file(
        "home/.claude.json",
        r#"{"projects": {"/work/a": {"mcpServers": {"here": {"command": "x"}}}, "/work/b": {}}}"#,
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let found = own.find_servers("../home/.claude.json".as_ref()).unwrap();
    let done = own.import(found, Existing::Keep, false).unwrap();
    let [here] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(here.name.as_str(), "here");
    assert_eq!(
        here.left_out,
        Some(ImportFailure::OfProject("/work/a".to_owned()))
    );
}

#[test]
fn a_relative_directory_of_an_added_server_is_written_as_an_absolute_one() {
    let project = TestProject::new();
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    for (cwd, written) in [
        (".", project.path("project").display().to_string()),
        ("${workspaceFolder}", "${workspaceFolder}".to_owned()),
    ] {
        let server = NewServer::Stdio {
            command: "./run.sh".to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: Some(cwd.to_owned()),
        };
        let added = own.add("mine", &server, Existing::Replace).unwrap();
        assert_eq!(added.warnings, [] as [String; 0]);
        let text = content(&project);
        assert!(text.contains(&format!("cwd = {written:?}")), "{text}");
    }
}

#[test]
fn limbeck_is_no_server_of_its_own_under_any_name() {
    let project = TestProject::new().file(
        "home/clients.json",
        r#"{"mcpServers": {"gateway": {"command": "limbeck", "args": ["serve"]}}}"#,
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let itself = own.add("gateway", &stdio("limbeck", &["serve"]), Existing::Keep);
    assert!(
        matches!(&itself, Err(OwnFileError::Entry { problem, .. }) if problem.contains("Limbeck itself")),
        "{itself:?}"
    );
    let found = own.find_servers("../home/clients.json".as_ref()).unwrap();
    let imported = own.import(found, Existing::Keep, false).unwrap();
    assert_eq!(imported[0].left_out, Some(ImportFailure::Gateway));
    // The control: its other commands are programs as all others.
    own.add(
        "shop",
        &stdio("limbeck", &["demo-upstream"]),
        Existing::Keep,
    )
    .unwrap();
    assert!(content(&project).contains("[servers.shop]"));
}

#[test]
fn the_directory_of_a_project_is_written_in_place_of_its_reference() {
    let servers = r#"{"servers": {
        "one": {"command": "node", "args": ["${workspaceFolder}/a", "${HOME}"], "env": {"A": "${workspaceFolder}"}}}}"#;
    let project = TestProject::new()
        .file("project/.vscode/mcp.json", servers)
        .file("home/.cursor/mcp.json", servers);
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let import = |file: &str| {
        let found = own.find_servers(file.as_ref()).unwrap();
        own.import(found, Existing::Replace, false).unwrap();
        content(&project)
    };
    let text = import(".vscode/mcp.json");
    let workspace = project.path("project").display().to_string();
    assert!(text.contains(&format!("\"{workspace}/a\"")), "{text}");
    assert!(text.contains(&format!("A = {workspace:?}")), "{text}");
    assert!(text.contains("${HOME}"), "{text}");
    assert!(!text.contains("workspaceFolder"), "{text}");
    // The control: an entry of the user works on the directory of each use.
    let text = import("../home/.cursor/mcp.json");
    assert!(text.contains("${workspaceFolder}/a"), "{text}");
}

#[test]
fn an_import_says_which_settings_of_a_client_are_not_copied_or_are_copied_in_another_form() {
    let project = TestProject::new().file(
        "home/.codex/config.toml",
        "[mcp_servers.needed]\ncommand = \"x\"\nrequired = true\n\
         [mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\
         [mcp_servers.plain]\ncommand = \"x\"\nenabled = true\nrequired = false\n",
    );
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let found = own
        .find_servers("../home/.codex/config.toml".as_ref())
        .unwrap();
    let done = own.import(found, Existing::Keep, false).unwrap();
    let warnings = |at: usize| done[at].warnings.join("\n");
    assert!(warnings(0).contains("`required` is not copied"), "{done:?}");
    assert!(warnings(1).contains("`disabled = true`"), "{done:?}");
    assert_eq!(warnings(2), "");
    assert_eq!(content(&project).matches("disabled = true").count(), 1);
}

#[test]
fn an_answer_in_an_empty_section_leaves_it_one_that_a_person_wrote() {
    for (before, is_operators) in [("[policy]\n", true), ("", false)] {
        let project = TestProject::new().file(OWN, before);
        let own_world = own_world(&project);
        let own = OwnFile::of(&own_world).unwrap();
        own.allow(&AllowedCalls {
            id: "always-0a1b".to_owned(),
            tool: ToolId::new("slack", "post"),
            class: EffectClass::Write,
            who: "user:local".to_owned(),
            same: Vec::new(),
            texts: Vec::new(),
            missing: Vec::new(),
            reason: "always allowed".to_owned(),
        })
        .unwrap();
        let found = project.load(&[]).unwrap();
        let policy = &found.settings.policy;
        assert_eq!((policy.fault.as_ref(), policy.rules.len()), (None, 1));
        assert_eq!(policy.is_operators, is_operators, "{before:?}");
    }
}

#[test]
fn a_rule_that_allows_calls_for_good_is_added_and_every_other_byte_stays() {
    let before = "# mine\n[policy]\npreset = 'balanced' # asks\n\n[[policy.rule]]\nid = 'a'  # first\neffect = 'deny'\ntools = ['x.*']\n\n# the one for git\n[servers.git]\ncommand = 'git-server'\n# the end\n";
    let project = TestProject::new().file(OWN, before);
    let own_world = own_world(&project);
    let own = OwnFile::of(&own_world).unwrap();
    let calls = AllowedCalls {
        id: "always-1".to_owned(),
        tool: ToolId::new("slack", "post"),
        class: EffectClass::Write,
        who: "user:local".to_owned(),
        same: vec![
            ("channel".to_owned(), json!("#eng\"\n")),
            ("a.b".to_owned(), json!(7)),
        ],
        texts: vec!["text".to_owned()],
        missing: vec!["thread".to_owned()],
        reason: "always allowed".to_owned(),
    };
    own.allow(&calls).unwrap();
    // A second time changes nothing.
    own.allow(&calls).unwrap();
    let after = content(&project);
    // Without the block of the rule it is the file as it was.
    let (head, rest) = after
        .split_once("\n[[policy.rule]]\nid = \"always-1\"")
        .unwrap();
    let (_, tail) = rest.split_once("reason = \"always allowed\"\n").unwrap();
    assert_eq!(format!("{head}{tail}"), before);
    assert_eq!(after.matches("always-1").count(), 1, "{after}");
    let found = project.load(&[]).unwrap();
    let policy = &found.settings.policy;
    assert_eq!(policy.fault, None, "{after}");
    let rule = policy
        .rules
        .iter()
        .find(|rule| rule.id == "always-1")
        .unwrap();
    assert_eq!((rule.effect, rule.arguments.len()), (Effect::Allow, 4));
    assert!(rule.covers(&calls.tool) && !rule.covers(&ToolId::new("slack", "post_all")));
    // What a rule cannot say exactly is not written.
    for value in [json!(["a"]), json!({}), json!(null), json!(1.5)] {
        let other = AllowedCalls {
            id: "always-2".to_owned(),
            same: vec![("to".to_owned(), value)],
            ..calls.clone()
        };
        assert!(matches!(
            own.allow(&other),
            Err(OwnFileError::Refused { .. })
        ));
    }
    let pattern = AllowedCalls {
        tool: ToolId::new("slack", "post*"),
        ..calls
    };
    assert!(own.allow(&pattern).is_err());
    assert_eq!(content(&project), after);
}
