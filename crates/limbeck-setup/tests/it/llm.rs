//! Files that may choose which models programs ask, and how much.

use limbeck_setup::Severity;

use crate::TestProject;

const OF_USER: &str = "home/.config/limbeck/config.toml";
const OF_REPOSITORY: &str = "project/limbeck.toml";
const SECTION: &str = "[llm]\nprovider = 'openai-compatible'\nurl = 'http://127.0.0.1:11434/v1'\nmodel = 'small'\nkey = 'env:KEY'\nrounds = 20\ntokens = 500\n";

#[test]
fn a_repository_can_neither_choose_a_provider_nor_raise_a_quota() {
    let project = TestProject::new().file(OF_REPOSITORY, &format!("observe = false\n{SECTION}"));
    let found = project.load(&[]).unwrap();
    assert_eq!(found.settings.llm, None);
    insta::assert_snapshot!(project.messages(&found, Severity::Warning).join("\n"), @"$ROOT/project/limbeck.toml:2:2: `llm`: is ignored: a file of a repository cannot choose which models are asked, or how much");
    // The rest of the file counts.
    assert!(!found.settings.observe.unwrap().value);

    // The control: the user's own file.
    let project = TestProject::new().file(OF_USER, SECTION);
    let entry = project.load(&[]).unwrap().settings.llm.unwrap().value;
    assert_eq!((entry.rounds, entry.tokens), (Some(20), Some(500)));
    let provider = entry.provider.unwrap();
    assert_eq!(
        (provider.name.as_str(), provider.model.as_deref()),
        ("openai-compatible", Some("small"))
    );
    assert_eq!(provider.key.as_deref(), Some("env:KEY"));
}

#[test]
fn an_unusable_section_is_ignored_and_its_secret_is_not_shown() {
    for (from, to) in [
        ("env:KEY", "s3cret"),
        ("127.0.0.1", "example.com"),
        ("openai-compatible", "openia"),
        ("rounds = 20", "round = 20"),
        ("rounds = 20", "rounds = -1"),
        ("tokens = 500", "tokens = '500'"),
        ("model = 'small'\n", ""),
        ("url = 'http://127.0.0.1:11434/v1'\n", ""),
        (
            "provider = 'openai-compatible'\nurl = 'http://127.0.0.1:11434/v1'\n",
            "",
        ),
    ] {
        let project = TestProject::new().file(OF_USER, &SECTION.replace(from, to));
        let found = project.load(&[]).unwrap();
        assert_eq!(found.settings.llm, None, "{to}");
        let errors = project.messages(&found, Severity::Error);
        assert_eq!(errors.len(), 1, "{to}: {errors:?}");
        assert!(!errors[0].contains("s3cret"), "{errors:?}");
    }
    // The control: a provider that is known by name needs neither address nor model.
    let project =
        TestProject::new().file(OF_USER, "[llm]\nprovider = 'anthropic'\nfilter = true\n");
    let entry = project.load(&[]).unwrap().settings.llm.unwrap().value;
    assert_eq!(
        (entry.provider.unwrap().model, entry.filter),
        (None, Some(true))
    );
}
