//! `add`, `import` and the hints of a user who starts with Limbeck.

use serde_json::json;

use crate::world::{CommandOutcome, LIMBECK, World};

fn own_file(world: &World) -> std::path::PathBuf {
    world.home().join(".config/limbeck/config.toml")
}

#[test]
fn an_argument_that_would_be_the_home_directory_is_refused() {
    let world = World::empty();
    for argument in [".", "..", "--root=."] {
        let refused = world
            .limbeck(["add", "here", "--", "sh", argument])
            .ends_with(2);
        assert!(refused.stderr.contains("`--cwd .`"), "{refused:?}");
        assert!(!own_file(&world).exists(), "{argument}");
    }
    // The control: with a directory the argument means that one.
    let here = world
        .limbeck(["add", "here", "--cwd", ".", "--", "sh", "."])
        .ends_with(0);
    assert!(!here.stderr.contains("warning: "), "{here:?}");
}

#[test]
fn arguments_that_are_paths_are_named_with_the_directory_in_which_they_are_looked_for() {
    let world = World::empty();
    world.file("server.py", "");
    let add = |arguments: &[&str]| {
        let words = [&["add", "one", "--replace", "--"][..], arguments].concat();
        let output = world.command(words).output().unwrap();
        CommandOutcome::of(output).ends_with(0).stderr
    };
    for argument in ["./server.js", "../server.js", "--file=./x", "server.py"] {
        let stderr = add(&["sh", argument]);
        let named = format!("warning: server `one`: `{argument}` is looked for in ");
        assert!(stderr.contains(&named), "{stderr}");
        assert!(stderr.contains("`--cwd .`"), "{stderr}");
    }
    // The control: a word that names no file.
    let stderr = add(&["sh", "other.py"]);
    assert!(!stderr.contains("warning: "), "{stderr}");
}

#[test]
fn an_imported_entry_of_the_user_with_a_relative_argument_is_a_warning() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "here": {"command": LIMBECK, "args": ["demo-upstream", "."]},
        "there": {"command": LIMBECK, "args": ["demo-upstream", "/srv"]},
    }});
    let file = world.home().join("clients.json");
    std::fs::write(&file, servers.to_string()).unwrap();
    let file = file.display().to_string();
    let done = world.limbeck(["import", &file]).ends_with(0).stderr;
    assert!(
        done.contains("server `here`: its argument `.` is looked for in the home directory"),
        "{done}"
    );
    assert!(!done.contains("server `there`"), "{done}");
}
