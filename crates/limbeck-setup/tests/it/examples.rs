//! The files of `valid/` and `invalid/`, each with a snapshot of its result.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use limbeck_domain::Expose;
use limbeck_setup::{Configuration, Transport};

use crate::given;

fn files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(directory);
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let suffix = path.extension().unwrap_or_default();
            suffix == "json" || suffix == "jsonc" || suffix == "toml"
        })
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// A configuration as text, without the directories of files.
fn shown(found: &Configuration) -> String {
    let short = |text: String| {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        text.replace(&format!("{}/", directory.display()), "")
    };
    let mut out = String::new();
    for server in &found.servers {
        let off = if server.disabled { " (disabled)" } else { "" };
        writeln!(
            out,
            "{}{off} from {}",
            server.name,
            short(server.origin.to_string())
        )
        .unwrap();
        match &server.definition {
            Err(fault) => writeln!(out, "  unusable: {fault}").unwrap(),
            Ok(Transport::Stdio {
                command,
                args,
                env,
                cwd,
            }) => {
                let cwd = short(format!("{cwd:?}"));
                writeln!(out, "  {command:?} {args:?} in {cwd}\n  {env:?}").unwrap();
            }
            Ok(Transport::Http {
                url,
                headers,
                kind,
                allow_http,
                allow_networks,
            }) => {
                writeln!(out, "  {url:?} {kind:?}\n  {headers:?}").unwrap();
                if *allow_http {
                    writeln!(out, "  in the clear").unwrap();
                }
                if !allow_networks.is_empty() {
                    writeln!(out, "  networks {allow_networks:?}").unwrap();
                }
            }
        }
        if let Some(start) = server.start_timeout_ms {
            writeln!(out, "  start {start}").unwrap();
        }
        if let Some(idle) = server.idle_timeout_ms {
            writeln!(out, "  idle {idle}").unwrap();
        }
        let (timeout, concurrency) = (server.timeout_ms, server.concurrency);
        writeln!(
            out,
            "  timeout {timeout:?}, concurrency {concurrency:?}, {:?}",
            server.description
        )
        .unwrap();
        if server.expose != Expose::Code {
            writeln!(out, "  exposed as {:?}", server.expose).unwrap();
        }
    }
    if let Some(wall_ms) = &found.settings.wall_ms {
        writeln!(
            out,
            "wall_ms {} from {}",
            wall_ms.value,
            short(wall_ms.origin.to_string())
        )
        .unwrap();
    }
    if let Some(mib) = &found.settings.disk_free_mib {
        writeln!(
            out,
            "disk_free_mib {} from {}",
            mib.value,
            short(mib.origin.to_string())
        )
        .unwrap();
    }
    if let Some(tier) = &found.settings.minimum_tier {
        writeln!(
            out,
            "minimum_tier {} from {}",
            tier.value,
            short(tier.origin.to_string())
        )
        .unwrap();
    }
    for note in &found.diagnostics {
        writeln!(out, "{}: {}", note.severity, short(note.to_string())).unwrap();
    }
    out
}

#[test]
fn every_valid_file_matches_its_snapshot() {
    let files = files("valid");
    assert!(files.len() >= 12);
    for file in files {
        let found = given(&[&file]).unwrap_or_else(|error| panic!("{error}"));
        insta::with_settings!({
            snapshot_path => "../valid", prepend_module_to_snapshot => false, omit_expression => true,
        }, { insta::assert_snapshot!(name(&file), shown(&found)) });
    }
}

#[test]
fn every_invalid_file_is_rejected_with_position_and_reason_and_without_its_secrets() {
    let files = files("invalid");
    assert!(files.len() >= 60);
    let mut refused = String::new();
    for file in files {
        let error = match given(&[&file]) {
            Err(error) => error,
            Ok(found) => panic!("{} was accepted: {found:?}", file.display()),
        };
        let text = error.to_string();
        let (_, text) = text.split_once("/invalid/").unwrap();
        assert!(!text.contains("s3cret") && text.len() < 300, "{text}");
        assert!(!error.hint().is_empty());
        writeln!(refused, "{text}").unwrap();
    }
    insta::with_settings!({
        snapshot_path => "../invalid", prepend_module_to_snapshot => false, omit_expression => true,
    }, { insta::assert_snapshot!("messages", refused) });
}

#[test]
fn debug_output_has_the_names_of_secrets_and_not_their_values() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valid/claude.json");
    let found = given(&[&file]).unwrap();
    let printed = format!("{found:?}");
    assert!(printed.contains("GITHUB_TOKEN") && printed.contains("Authorization"));
    assert!(!printed.contains("s3cret"), "{printed}");
}
