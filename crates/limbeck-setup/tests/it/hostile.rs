//! Files that are not what they seem, too large, or open to others. None may hang or be read whole.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use limbeck_domain::limits::{CONFIG_BYTES_MAX, SERVERS_MAX};
use limbeck_setup::{ConfigError, Level};

use crate::{World, given};

const ONE: &str = r#"{ "mcpServers": { "s": { "command": "x" } } }"#;

fn problem(path: &Path) -> String {
    given(&[path]).unwrap_err().to_string()
}

#[test]
fn only_regular_files_are_read_and_nothing_is_waited_for() {
    let world = World::new();
    let fifo = world.path("fifo.json");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    let socket = world.path("socket.json");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(problem(&fifo).ends_with("is a pipe, not a file"));
    assert!(problem(&world.path("project")).ends_with("is a directory, not a file"));
    assert!(problem(Path::new("/dev/zero")).ends_with("is a device, not a file"));
    assert!(matches!(
        given(&[&socket]),
        Err(ConfigError::Unreadable { .. })
    ));

    // Found instead of named, it is a note, and the rest works.
    let world = World::new().file("home/.claude.json", ONE);
    std::fs::create_dir(world.path("project/.mcp.json")).unwrap();
    let found = world.load(&[]).unwrap();
    assert_eq!(found.servers.len(), 1);
    assert_eq!(
        world.notes(&found, Level::Error),
        ["$ROOT/project/.mcp.json: is a directory, not a file"]
    );
}

#[test]
fn links_are_followed_and_loops_are_errors() {
    let world = World::new().file("real.json", ONE);
    symlink(world.path("real.json"), world.path("link.json")).unwrap();
    symlink(world.path("loop.json"), world.path("loop.json")).unwrap();
    assert_eq!(given(&[&world.path("link.json")]).unwrap().servers.len(), 1);
    assert!(matches!(
        given(&[&world.path("loop.json")]),
        Err(ConfigError::Unreadable { .. })
    ));
}

#[test]
fn a_file_is_read_up_to_its_bound() {
    let world = World::new();
    let path = world.path("large.json");
    for (bytes, accepted) in [
        (CONFIG_BYTES_MAX - 1, true),
        (CONFIG_BYTES_MAX, true),
        (CONFIG_BYTES_MAX + 1, false),
        (100 << 20, false),
    ] {
        let mut content = ONE.as_bytes().to_vec();
        content.resize(bytes, b' ');
        std::fs::write(&path, content).unwrap();
        assert_eq!(given(&[&path]).is_ok(), accepted, "{bytes} bytes");
    }
    assert!(problem(&path).ends_with("is larger than 4194304 bytes"));
}

#[test]
fn a_hundred_thousand_servers_are_an_error_and_the_bound_is_not() {
    let world = World::new();
    let path = world.path("many.json");
    for (servers, accepted) in [
        (SERVERS_MAX, true),
        (SERVERS_MAX + 1, false),
        (100_000, false),
    ] {
        let entries: Vec<String> = (0..servers)
            .map(|n| format!(r#""{n}":{{"command":"x"}}"#))
            .collect();
        let content = format!(r#"{{"mcpServers":{{{}}}}}"#, entries.join(","));
        std::fs::write(&path, content).unwrap();
        let found = given(&[&path]);
        assert_eq!(found.is_ok(), accepted, "{servers} servers");
        if let Err(error) = found {
            assert!(error.to_string().contains("more than the 512 servers"));
        }
    }
}

#[test]
fn a_file_that_everybody_can_write_counts_only_when_it_is_named() {
    let world = World::new().file("project/.mcp.json", ONE);
    let path = world.path("project/.mcp.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let found = world.load(&[]).unwrap();
    assert!(found.servers.is_empty());
    assert_eq!(
        world.notes(&found, Level::Error),
        [
            "$ROOT/project/.mcp.json: can be written by everybody; it is not used; name it with `--config` to use it"
        ]
    );

    let found = given(&[&path]).unwrap();
    assert_eq!(found.servers.len(), 1);
    assert_eq!(world.notes(&found, Level::Warning).len(), 1);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    let found = world.load(&[]).unwrap();
    assert_eq!((found.servers.len(), found.notes.len()), (1, 0));
}
