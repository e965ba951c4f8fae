//! The administrator's file: it is read in any case, and counts only when no other user can write it.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use limbeck_policy::rules::{Layer, Preset};
use limbeck_setup::{Configuration, Discovery, ManagedFile, TrustPolicy};

use crate::{TestProject, world};

const RULES: &str = r#"
[policy]
preset = "strict"

[[policy.rule]]
id = "no-payments"
effect = "deny"
tools = ["bank.*"]

[[policy.rule]]
id = "mail"
effect = "ask"
tools = ["mail.*"]
default = true
"#;

/// A project with a managed file, which belongs to the user who runs the test.
fn managed(text: &str) -> TestProject {
    let project = TestProject::new().file("etc/policy.toml", text);
    set_mode(&project.path("etc"), 0o755);
    set_mode(&project.path("etc/policy.toml"), 0o644);
    project
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn load(project: &TestProject, owner_is_other: bool) -> Configuration {
    let path = project.path("etc/policy.toml");
    let user = std::fs::metadata(project.path("home")).unwrap().uid();
    limbeck_setup::load(&Discovery {
        world: &world(project.path("home"), project.path("project")),
        config_files: &[],
        // The administrator's file is not one that is searched for.
        discover: false,
        managed: Some(ManagedFile {
            path: &path,
            owner: if owner_is_other { user + 1 } else { user },
        }),
        trust_policy: TrustPolicy::Everything,
    })
    .unwrap()
}

#[test]
fn the_administrators_rules_are_read_where_nothing_is_searched() {
    let found = load(&managed(RULES), false);
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let policy = &found.settings.policy;
    assert_eq!(policy.fault, None);
    assert_eq!(policy.presets, [(Layer::Managed, Preset::Strict)]);
    let rules: Vec<_> = policy
        .rules
        .iter()
        .map(|rule| (&*rule.id, rule.layer, rule.is_default))
        .collect();
    assert_eq!(
        rules,
        [
            ("no-payments", Layer::Managed, false),
            ("mail", Layer::Managed, true)
        ]
    );
    // Without the file there is no fault.
    let absent = load(&TestProject::new(), false);
    assert!(!absent.settings.policy.is_set && absent.settings.policy.fault.is_none());
}

#[test]
fn a_file_that_another_user_could_have_written_stops_calls() {
    let fault = |project: &TestProject, owner_is_other| {
        let found = load(project, owner_is_other);
        assert!(found.settings.policy.rules.is_empty());
        assert_eq!(found.diagnostics.len(), 1, "{:?}", found.diagnostics);
        found.settings.policy.fault.unwrap_or_default()
    };
    assert!(fault(&managed(RULES), true).contains("belongs to user"));
    for mode in [0o666, 0o664, 0o646] {
        let project = managed(RULES);
        set_mode(&project.path("etc/policy.toml"), mode);
        let fault = fault(&project, false);
        assert!(fault.contains("can be written by other users"), "{fault}");
    }
    let project = managed(RULES);
    set_mode(&project.path("etc"), 0o777);
    let of_directory = fault(&project, false);
    assert!(
        of_directory.contains("its directory can be"),
        "{of_directory}"
    );
    // A directory in the place of the file.
    let project = TestProject::new();
    std::fs::create_dir_all(project.path("etc/policy.toml")).unwrap();
    assert!(fault(&project, false).contains("is a directory"));
}

#[test]
fn a_mistake_in_the_administrators_file_stops_calls_and_names_its_line() {
    for (right, slip, line) in [
        ("effect = \"deny\"", "effect = \"denied\"", 7),
        ("preset = \"strict\"", "preset = \"strikt\"", 3),
        ("default = true", "defaults = true", 14),
        ("[policy]\npreset", "[limits]\npreset", 2),
        ("id = \"mail\"", "id = \"no-payments\"", 10),
    ] {
        let text = RULES.replacen(right, slip, 1);
        assert_ne!(text, RULES, "{right}");
        let found = load(&managed(&text), false);
        let fault = found.settings.policy.fault.unwrap_or_default();
        assert!(
            fault.starts_with(&format!("policy.toml:{line}")),
            "{slip}: {fault}"
        );
    }
    // Not TOML at all.
    let found = load(&managed("[["), false);
    assert!(found.settings.policy.fault.is_some());
}
