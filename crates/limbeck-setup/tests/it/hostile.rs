//! Hostile files: special files, links, huge files, files that other users can write. None may block the reader
//! or be read whole.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use limbeck_domain::limits::{CONFIG_BYTES_MAX, SERVERS_MAX};
use limbeck_setup::{ConfigError, Severity};

use crate::{TestProject, given};

const ONE: &str = r#"{ "mcpServers": { "s": { "command": "x" } } }"#;

fn problem(path: &Path) -> String {
    given(&[path]).unwrap_err().to_string()
}

#[test]
fn only_regular_files_are_read_and_special_files_do_not_block() {
    let project = TestProject::new();
    let fifo = project.path("fifo.json");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    let socket = project.path("socket.json");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(problem(&fifo).ends_with("is a pipe, not a file"));
    assert!(problem(&project.path("project")).ends_with("is a directory, not a file"));
    assert!(problem(Path::new("/dev/zero")).ends_with("is a device, not a file"));
    assert!(matches!(
        given(&[&socket]),
        Err(ConfigError::Unreadable { .. })
    ));

    // Found instead of named, it is a note, and the rest works.
    let project = TestProject::new().file("home/.claude.json", ONE);
    std::fs::create_dir(project.path("project/.mcp.json")).unwrap();
    let found = project.load(&[]).unwrap();
    assert_eq!(found.servers.len(), 1);
    assert_eq!(
        project.messages(&found, Severity::Error),
        ["$ROOT/project/.mcp.json: is a directory, not a file"]
    );
}

#[test]
fn a_yaml_file_is_named_as_such() {
    let project = TestProject::new()
        .file("servers.yaml", "mcpServers: {}\n")
        .file("json.yaml", ONE);
    let problem = problem(&project.path("servers.yaml"));
    assert!(
        problem.contains("servers.yaml:1:1: ") && problem.contains("YAML is not read"),
        "{problem}"
    );
    // The control: JSON under that name.
    assert_eq!(
        given(&[&project.path("json.yaml")]).unwrap().servers.len(),
        1
    );
}

#[test]
fn links_are_followed_and_loops_are_errors() {
    let project = TestProject::new().file("real.json", ONE);
    symlink(project.path("real.json"), project.path("link.json")).unwrap();
    symlink(project.path("loop.json"), project.path("loop.json")).unwrap();
    assert_eq!(
        given(&[&project.path("link.json")]).unwrap().servers.len(),
        1
    );
    assert!(matches!(
        given(&[&project.path("loop.json")]),
        Err(ConfigError::Unreadable { .. })
    ));
}

#[test]
fn a_file_above_its_size_limit_is_rejected() {
    let project = TestProject::new();
    let path = project.path("large.json");
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
fn a_hundred_thousand_servers_are_an_error_and_the_maximum_is_not() {
    let project = TestProject::new();
    let path = project.path("many.json");
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
            assert!(
                error
                    .to_string()
                    .contains("exceeds the maximum of 512 servers")
            );
        }
    }
}

#[test]
fn many_faults_on_one_long_line_cost_little_and_are_counted() {
    // 3.9 MB on one line: unknown keys of one entry, and entries that are wrong.
    let keys: Vec<String> = (0..100_000).map(|n| format!(r#""k{n}":0"#)).collect();
    let wrong: Vec<String> = (0..150_000).map(|n| format!(r#""{n}":0"#)).collect();
    let long_key = "x".repeat(1 << 20);
    let content = format!(
        r#"{{"mcpServers":{{"s":{{"command":"x",{},"{long_key}":0}},{}}}}}"#,
        keys.join(","),
        wrong.join(",")
    );
    assert!(content.len() > 3_500_000 && content.len() <= CONFIG_BYTES_MAX);
    let project = TestProject::new().file("project/.mcp.json", &content);
    let before = processor_ms();
    let found = project.load(&[]).unwrap();
    let spent = processor_ms() - before;
    // Without a bound this takes a minute of processor time; the parser alone takes some 300 ms of a debug build.
    assert!(spent < 15_000, "{spent} ms");
    assert!(found.diagnostics.len() <= 60, "{}", found.diagnostics.len());
    let text: usize = found
        .diagnostics
        .iter()
        .map(|note| note.to_string().len())
        .sum();
    assert!(text < 64 << 10, "{text} bytes");
    assert!(
        found
            .diagnostics
            .iter()
            .any(|note| note.message.contains("more findings"))
    );
    assert!(found.servers.iter().any(|server| server.definition.is_ok()));
}

/// Processor time of this process so far, user and system.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field is the name of the program, which may have spaces.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().unwrap();
    // Ticks of a hundredth of a second, on every Linux.
    (ticks(11) + ticks(12)) * 10
}

#[test]
fn a_file_that_every_user_can_write_is_used_only_when_it_is_named() {
    let project = TestProject::new().file("project/.mcp.json", ONE);
    let path = project.path("project/.mcp.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let found = project.load(&[]).unwrap();
    assert!(found.servers.is_empty());
    assert_eq!(
        project.messages(&found, Severity::Error),
        [
            "$ROOT/project/.mcp.json: can be written by every user; it is ignored; name it with `--config` to use it"
        ]
    );

    let found = given(&[&path]).unwrap();
    assert_eq!(found.servers.len(), 1);
    assert_eq!(project.messages(&found, Severity::Warning).len(), 1);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    let found = project.load(&[]).unwrap();
    assert_eq!((found.servers.len(), found.diagnostics.len()), (1, 0));
}
