//! Servers of a repository wait for trust, which holds for one definition in one file and no other.

use std::os::unix::fs::PermissionsExt as _;

use limbeck_domain::ServerName;
use limbeck_setup::{
    AcceptedBy, Configuration, ServerEntry, Trust, TrustFile, TrustRecord, TrustRecords, Trusting,
};

use crate::World;

const REPOSITORY: &str = "project/.mcp.json";
const SHOP: &str = r#"{ "mcpServers": { "shop": { "command": "x", "args": ["1"], "env": { "K": "${TOKEN}" } } } }"#;

fn with(records: &TrustRecords, world: &World) -> Configuration {
    world
        .load_trusting(&[], Trusting::Recorded(records))
        .unwrap()
}

fn record(entry: &ServerEntry, by: AcceptedBy) -> TrustRecord {
    TrustRecord {
        file: entry.origin.file.clone(),
        server: entry.name.clone(),
        sha256: entry.written.as_ref().unwrap().sha256.clone(),
        by,
        at_us: 1,
        program: None,
    }
}

/// Records that accept everything `world` holds at this moment.
fn accepting(world: &World) -> TrustRecords {
    let mut records = TrustRecords::default();
    let found = with(&records, world);
    for entry in found.servers.iter().chain(&found.held_back) {
        if entry.written.is_some() {
            records.accept(record(entry, AcceptedBy::User));
        }
    }
    records
}

fn trust_of(found: &Configuration, name: &str) -> Trust {
    let mut servers = found.servers.iter();
    servers.find(|s| s.name.as_str() == name).unwrap().trust
}

#[test]
fn a_server_of_a_repository_waits_and_those_of_the_user_do_not() {
    let world = World::new()
        .file(REPOSITORY, SHOP)
        .file("project/limbeck.toml", "[servers.ours]\ncommand = 'x'")
        .file("home/.claude.json", r#"{"mcpServers": {"user": {"command": "x"}}, "projects": {"$ROOT/project": {"mcpServers": {"local": {"command": "x"}}}}}"#)
        .file("home/.config/limbeck/config.toml", "[servers.mine]\ncommand = 'x'")
        .file("given.json", r#"{"mcpServers": {"given": {"command": "x"}}}"#);
    let records = TrustRecords::default();
    let found = world
        .load_trusting(&["../given.json"], Trusting::Recorded(&records))
        .unwrap();
    for (name, trust) in [
        ("shop", Trust::Waiting),
        ("ours", Trust::Waiting),
        ("user", Trust::Own),
        ("local", Trust::Own),
        ("mine", Trust::Own),
        ("given", Trust::Own),
    ] {
        assert_eq!(trust_of(&found, name), trust, "{name}");
    }
    // The same file, named: the user's word.
    let found = world
        .load_trusting(&[".mcp.json"], Trusting::Recorded(&records))
        .unwrap();
    assert_eq!(trust_of(&found, "shop"), Trust::Own);
}

#[test]
fn any_change_of_an_accepted_definition_asks_again_and_white_space_is_none() {
    let world = World::new().file(REPOSITORY, SHOP);
    let records = accepting(&world);
    assert_eq!(trust_of(&with(&records, &world), "shop"), Trust::Accepted);
    for (from, to) in [
        (r#""x""#, r#""y""#),
        (r#"["1"]"#, r#"["1", "2"]"#),
        ("TOKEN", "TOKEN2"),
        (r#""K""#, r#""LD_PRELOAD""#),
        (r#""command""#, r#""cwd": "/", "command""#),
        (r#""command""#, r#""expose": "direct", "command""#),
    ] {
        let world = world_again(&world, &SHOP.replace(from, to));
        let trust = trust_of(&with(&records, world), "shop");
        assert_eq!(trust, Trust::Changed, "{from} to {to}");
    }
    let same = r#"{"mcpServers":{"shop":{ /* moved */ "env":{"K":"${TOKEN}"},
        "command":"x",  "args":["1"]}}}"#;
    let world = world_again(&world, same);
    assert_eq!(trust_of(&with(&records, world), "shop"), Trust::Accepted);
}

/// The same world with another `.mcp.json`.
fn world_again<'w>(world: &'w World, content: &str) -> &'w World {
    std::fs::write(world.path(REPOSITORY), content).unwrap();
    world
}

#[test]
fn trust_holds_for_one_checkout_and_one_name() {
    let world = World::new().file(REPOSITORY, SHOP);
    let records = accepting(&world);
    let other = World::new().file(REPOSITORY, SHOP);
    assert_eq!(trust_of(&with(&records, &other), "shop"), Trust::Waiting);
    let world = world_again(&world, &SHOP.replace("shop", "shop2"));
    assert_eq!(trust_of(&with(&records, world), "shop2"), Trust::Waiting);
}

#[test]
fn a_server_that_waits_takes_nobodys_place() {
    let world = World::new()
        .file(
            "home/.claude.json",
            r#"{"mcpServers": {"shop": {"command": "mine"}}}"#,
        )
        .file(REPOSITORY, SHOP);
    let found = with(&TrustRecords::default(), &world);
    assert_eq!(world.origins(&found), ["shop $ROOT/home/.claude.json:1"]);
    assert_eq!(found.held_back.len(), 1);
    assert_eq!(found.held_back[0].trust, Trust::Waiting);
    // The control: accepted, it does.
    let found = with(&accepting(&world), &world);
    assert_eq!(
        world.origins(&found),
        ["shop $ROOT/project/.mcp.json:1 (repository)"]
    );
    assert!(found.held_back.is_empty());
}

#[test]
fn a_name_accepted_in_the_client_counts_for_its_directory_until_the_definition_changes() {
    let accepted = r#"{"projects": {"$ROOT/project": {"enabledMcpjsonServers": ["shop"]}}}"#;
    let world = World::new()
        .file("home/.claude.json", accepted)
        .file("project/limbeck.toml", "[servers.ours]\ncommand = 'x'")
        .file(REPOSITORY, SHOP);
    let mut records = TrustRecords::default();
    let found = with(&records, &world);
    assert_eq!(trust_of(&found, "shop"), Trust::AcceptedByClient);
    assert_eq!(trust_of(&found, "ours"), Trust::Waiting);

    records.accept(record(&found.servers[0], AcceptedBy::Client));
    let world = world_again(&world, &SHOP.replace("\"x\"", "\"y\""));
    assert_eq!(trust_of(&with(&records, world), "shop"), Trust::Changed);
    let world = world_again(world, SHOP);
    assert_eq!(trust_of(&with(&records, world), "shop"), Trust::Accepted);

    // Taken back here, what the client says does not bring it back.
    let file = world.path(REPOSITORY);
    assert!(records.revoke(&file, &ServerName::new("shop")));
    assert_eq!(trust_of(&with(&records, world), "shop"), Trust::Waiting);

    // Accepted for a directory above, which says nothing of what is checked out below.
    let world = World::new()
        .file("home/.claude.json", &accepted.replace("/project", ""))
        .file(REPOSITORY, SHOP);
    let found = with(&TrustRecords::default(), &world);
    assert_eq!(trust_of(&found, "shop"), Trust::Waiting);

    // A client's list in a file of the repository is the repository's own word.
    let settings = r#"{"enabledMcpjsonServers": ["shop"], "enableAllProjectMcpServers": true}"#;
    let world = World::new()
        .file("project/.claude/settings.json", settings)
        .file("project/.claude/settings.local.json", settings)
        .file(REPOSITORY, SHOP);
    let found = with(&TrustRecords::default(), &world);
    assert_eq!(trust_of(&found, "shop"), Trust::Waiting);
}

#[test]
fn c25_what_the_client_both_accepted_and_turned_down_stays_off() {
    let both = r#"{"projects": {"$ROOT/project": {
        "enabledMcpjsonServers": ["shop"], "disabledMcpjsonServers": ["shop"]}}}"#;
    let world = World::new()
        .file("home/.claude.json", both)
        .file(REPOSITORY, SHOP);
    let found = with(&TrustRecords::default(), &world);
    assert!(found.servers[0].disabled);
    // The control: accepted alone, it is on.
    let world = World::new()
        .file(
            "home/.claude.json",
            &both.replace("disabledMcpjsonServers", "history"),
        )
        .file(REPOSITORY, SHOP);
    assert!(!with(&TrustRecords::default(), &world).servers[0].disabled);
}

#[test]
fn a_person_is_shown_what_would_be_started_and_no_secret() {
    let world = World::new().file(
        REPOSITORY,
        r#"{ "mcpServers": {
            "shop": { "args": ["-c", "a 'b'; rm -rf \u001b[2J", "${TOKEN}"], "command": "sh",
                      "env": { "K": "s3cret", "LD_PRELOAD": "./x.so" }, "timeout": 5 },
            "far": { "headers": { "Authorization": "s3cret" }, "url": "https://a.example/${TOKEN}" } } }"#,
    );
    let found = with(&TrustRecords::default(), &world);
    let mut shown = String::new();
    for server in &found.servers {
        for (label, line) in &server.written.as_ref().unwrap().lines {
            shown.push_str(&format!("{}: {label}: {line}\n", server.name));
        }
    }
    insta::assert_snapshot!(shown, @r"
    shop: command: sh -c 'a '\''b'\''; rm -rf [2J' '${TOKEN}'
    shop: env: K, LD_PRELOAD=./x.so
    shop: timeout: 5
    far: url: https://a.example/${TOKEN}
    far: headers: Authorization
    ");
}

fn file_in(world: &World) -> TrustFile {
    TrustFile::new(world.path("state/trust.json"))
}

#[test]
fn records_are_kept_for_their_owner_alone_and_come_back() {
    let world = World::new().file(REPOSITORY, SHOP);
    let file = file_in(&world);
    assert!(matches!(
        trust_of(&with(&file.read().unwrap(), &world), "shop"),
        Trust::Waiting
    ));
    let found = with(&TrustRecords::default(), &world);
    let entry = &found.servers[0];
    file.change(|records| records.accept(record(entry, AcceptedBy::User)))
        .unwrap();
    assert_eq!(
        trust_of(&with(&file.read().unwrap(), &world), "shop"),
        Trust::Accepted
    );
    for (name, mode) in [("state", 0o700), ("state/trust.json", 0o600)] {
        let permissions = std::fs::metadata(world.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
    let stored = std::fs::read_to_string(world.path("state/trust.json")).unwrap();
    assert!(
        stored.contains("shop") && !stored.contains("TOKEN"),
        "{stored}"
    );
    let taken_back = file.change(|records| records.revoke(&entry.origin.file, &entry.name));
    assert!(taken_back.unwrap());
    assert_eq!(
        trust_of(&with(&file.read().unwrap(), &world), "shop"),
        Trust::Waiting
    );
}

#[test]
fn g02_records_that_are_damaged_or_open_to_others_accept_nothing_and_say_so() {
    let world = World::new().file(REPOSITORY, SHOP);
    let file = file_in(&world);
    let found = with(&TrustRecords::default(), &world);
    file.change(|records| records.accept(record(&found.servers[0], AcceptedBy::User)))
        .unwrap();
    let path = world.path("state/trust.json");
    let good = std::fs::read(&path).unwrap();
    for bad in [
        &b""[..],
        &good[..good.len() / 2],
        b"{\"version\": 2, \"accepted\": []}",
        b"\xff",
        b"[]",
    ] {
        std::fs::write(&path, bad).unwrap();
        let error = file.read().unwrap_err();
        assert!(error.hint().contains("limbeck trust"), "{error}");
        assert!(file.change(|_| ()).is_err(), "nothing is written over it");
        assert_eq!(std::fs::read(&path).unwrap(), bad);
    }
    std::fs::write(&path, &good).unwrap();
    assert_eq!(
        trust_of(&with(&file.read().unwrap(), &world), "shop"),
        Trust::Accepted
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(file.read().is_err());
}

#[test]
fn two_who_accept_at_once_both_have_their_way() {
    let world = World::new();
    let file = file_in(&world);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for index in 0..10 {
                    let record = TrustRecord {
                        file: "/x".into(),
                        server: ServerName::new(&*format!("{thread}-{index}")),
                        sha256: String::new(),
                        by: AcceptedBy::User,
                        at_us: 0,
                        program: None,
                    };
                    file.change(|records| records.accept(record)).unwrap();
                }
            });
        }
    });
    let kept = |thread: usize, index: usize| {
        let name = ServerName::new(&*format!("{thread}-{index}"));
        file.change(|records| records.revoke("/x".as_ref(), &name))
            .unwrap()
    };
    assert!((0..4).all(|thread| (0..10).all(|index| kept(thread, index))));
}
