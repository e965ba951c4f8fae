//! Files that may choose where descriptions and queries are sent, and with which secret.

use limbeck_setup::Severity;

use crate::TestProject;

const OF_USER: &str = "home/.config/limbeck/config.toml";
const OF_REPOSITORY: &str = "project/limbeck.toml";
const ENDPOINT: &str = "[search.embeddings]\nurl = 'http://127.0.0.1:11434/v1'\nmodel = 'nomic-embed-text'\nkey = 'env:KEY'\n";

/// Url, model and origin of the endpoint.
fn endpoint(project: &TestProject, config: &[&str]) -> Option<String> {
    let setting = project.load(config).unwrap().settings.embeddings?;
    let (entry, origin) = (setting.value, project.redact(setting.origin));
    Some(format!(
        "{} {} {:?} {origin}",
        entry.url, entry.model, entry.key
    ))
}

#[test]
fn a_repository_cannot_choose_where_texts_are_sent_and_causes_a_warning() {
    let project = TestProject::new().file(OF_REPOSITORY, &format!("observe = false\n{ENDPOINT}"));
    let found = project.load(&[]).unwrap();
    assert_eq!(found.settings.embeddings, None);
    insta::assert_snapshot!(project.messages(&found, Severity::Warning).join("\n"), @"$ROOT/project/limbeck.toml:2:9: `search.embeddings`: is ignored: a file of a repository cannot choose where descriptions and queries are sent");
    // The rest of the file counts.
    assert!(!found.settings.observe.unwrap().value);

    // The controls: the user's own file may, and so may the same file when it is named.
    let theirs = ENDPOINT.replace("11434", "9");
    let project = TestProject::new()
        .file(OF_USER, ENDPOINT)
        .file(OF_REPOSITORY, &theirs);
    let ours = "http://127.0.0.1:11434/v1 nomic-embed-text Some(\"env:KEY\") $ROOT/home/.config/limbeck/config.toml:1";
    assert_eq!(endpoint(&project, &[]).as_deref(), Some(ours));
    let named = endpoint(&project, &["limbeck.toml"]).unwrap();
    assert!(named.starts_with("http://127.0.0.1:9/v1 "), "{named}");
}

#[test]
fn a_later_file_replaces_the_endpoint_as_a_whole() {
    let other = "[search.embeddings]\nurl = 'https://example.com/v1'\nmodel = 'other'\n";
    let project = TestProject::new()
        .file(OF_USER, ENDPOINT)
        .file("named.toml", other);
    let found = endpoint(&project, &["../named.toml"]).unwrap();
    assert_eq!(
        found,
        "https://example.com/v1 other None $ROOT/project/../named.toml:1"
    );
}

#[test]
fn an_unusable_endpoint_is_ignored_and_its_secret_is_not_shown() {
    for (from, to) in [
        ("env:KEY", "s3cret"),
        ("env:KEY", "env:"),
        ("127.0.0.1", "example.com"),
        ("127.0.0.1", "me:s3cret@127.0.0.1"),
        ("model =", "modell ="),
    ] {
        let project = TestProject::new().file(OF_USER, &ENDPOINT.replace(from, to));
        let found = project.load(&[]).unwrap();
        assert_eq!(found.settings.embeddings, None, "{to}");
        let errors = project.messages(&found, Severity::Error);
        assert_eq!(errors.len(), 1, "{to}: {errors:?}");
        assert!(!errors[0].contains("s3cret"), "{errors:?}");
    }
    // The control: in the clear to another machine, where the user insists.
    let insists = ENDPOINT.replace("127.0.0.1", "example.com") + "allow_http = true\n";
    let project = TestProject::new().file(OF_USER, &insists);
    let found = project.load(&[]).unwrap();
    let entry = found.settings.embeddings.clone().unwrap().value;
    assert!(entry.allow_http);
    assert!(!format!("{found:?}").contains("example.com"));
}
