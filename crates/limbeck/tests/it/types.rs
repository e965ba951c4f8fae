//! `limbeck types` with the sample server. `tests/real` tests that type checkers accept the output.

use std::fs;

use serde_json::json;

use crate::world::{LIMBECK, World};

#[test]
fn types_are_printed_or_written_for_one_server_and_for_all() {
    let world = World::with_shop();
    let printed = world.limbeck(["types"]).ends_with(0).stdout;
    assert!(printed.contains("  shop: {\n"), "{printed}");
    assert!(
        printed.contains("    get_customer: Limbeck.Tool<{"),
        "{printed}"
    );
    assert_eq!(
        world.limbeck(["types", "shop"]).ends_with(0).stdout,
        printed
    );

    let wrote = world.limbeck(["types", "-o", "typings"]).ends_with(0);
    assert_eq!(wrote.stdout, "");
    assert!(
        wrote
            .stderr
            .contains("wrote 3 tools of 1 server to typings"),
        "{}",
        wrote.stderr
    );
    let file = world.work().join("typings/limbeck.d.ts");
    assert_eq!(fs::read_to_string(file).unwrap(), printed);

    world
        .limbeck(["types", "--language", "py", "-o", "typings"])
        .ends_with(0);
    let module = world.work().join("typings/limbeck_types/shop.pyi");
    let module = fs::read_to_string(module).unwrap();
    assert!(module.contains("class Shop(Server):\n"), "{module}");
}

#[test]
fn a_server_that_cannot_be_asked_fails_the_command_and_not_the_others() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "shop": {"command": LIMBECK, "args": ["demo-upstream"]},
        "absent": {"command": "no-such-program-anywhere"},
        "remote": {"type": "http", "url": "https://example.com/mcp"},
    }});
    world.file(".mcp.json", &servers.to_string());
    let outcome = world.limbeck(["types"]).ends_with(1);
    assert!(outcome.stdout.contains("  shop: {\n"), "{}", outcome.stdout);
    assert!(
        outcome.stderr.contains("no-such-program-anywhere"),
        "{}",
        outcome.stderr
    );
    assert!(
        world
            .limbeck(["types", "shop"])
            .ends_with(0)
            .stderr
            .is_empty()
    );
}

#[test]
fn what_cannot_be_done_is_said_with_the_next_step() {
    let world = World::with_shop();
    let several = world.limbeck(["types", "--language", "py"]).ends_with(2);
    assert_eq!(
        several.stderr,
        "error: Python stubs consist of several files\n\nhint: set a directory for them with `-o typings`\n"
    );
    let unknown = world.limbeck(["types", "shpo"]).ends_with(2);
    assert!(unknown.stderr.contains("`shop`"), "{}", unknown.stderr);

    world.file("taken", "");
    let taken = world.limbeck(["types", "-o", "taken"]).ends_with(2);
    assert!(
        taken.stderr.contains("limbeck.d.ts could not be written"),
        "{}",
        taken.stderr
    );
    assert!(
        taken
            .stderr
            .contains("hint: set another directory with `-o`"),
        "{}",
        taken.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_link_that_a_repository_planted_is_named_and_not_followed() {
    use std::os::unix::fs::symlink;

    let world = World::with_shop();
    let mine = world.home().join(".bashrc");
    fs::write(&mine, "MINE").unwrap();
    let typings = world.work().join("typings");
    fs::create_dir(&typings).unwrap();
    symlink(&mine, typings.join("limbeck.d.ts")).unwrap();
    symlink(world.home(), typings.join("limbeck_types")).unwrap();
    for (language, link) in [
        ("ts", "typings/limbeck.d.ts"),
        ("py", "typings/limbeck_types"),
    ] {
        let refused = world.limbeck(["types", "--language", language, "-o", "typings"]);
        let refused = refused.ends_with(2).stderr;
        assert!(refused.contains(&format!("{link} is a link")), "{refused}");
    }
    assert_eq!(fs::read_to_string(&mine).unwrap(), "MINE");
    assert!(!world.home().join("__init__.pyi").exists());
    // The control: the user names a link.
    symlink(world.home(), world.work().join("chosen")).unwrap();
    world.limbeck(["types", "-o", "chosen"]).ends_with(0);
    let written = fs::read_to_string(world.home().join("limbeck.d.ts")).unwrap();
    assert!(written.contains("  shop: {\n"), "{written}");
}
