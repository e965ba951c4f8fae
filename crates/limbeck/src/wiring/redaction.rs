//! Secrets of the configuration, made known so that nothing that leaves has them.

use limbeck_setup::{Configuration, ServerEntry, Settings, Transport};
use limbeck_upstream::http::SecretReference;
use limbeck_upstream::{Direction, KnownSecrets, ShapeAction, ShapeRules};

use crate::invocation::Invocation;

/// Adds the secrets in a configuration to the known ones, and puts its rules for shapes in force.
///
/// What is behind a reference is added when it is looked up, and a token of a sign-in when it is read. Of a repository's entry that
/// the user did not accept nothing is used, so nothing of it is taken out of answers either.
pub(super) fn make_known(invocation: &Invocation, configuration: &Configuration) {
    let known = invocation.redaction.secrets();
    let entries = configuration.servers.iter();
    for entry in entries.filter(|entry| !entry.is_held_back()) {
        add_entry(known, entry);
    }
    let settings = &configuration.settings;
    invocation.redaction.set_rules(shape_rules(settings));
    let urls = [
        settings.embeddings.as_ref().map(|it| &it.value.url),
        settings.notify.webhook.as_ref().map(|it| &it.url),
    ];
    for url in urls.into_iter().flatten() {
        known.add_address("settings", url, std::iter::empty());
    }
}

/// The rules of all files. Their names were checked where they were read.
fn shape_rules(settings: &Settings) -> ShapeRules {
    let mut rules = ShapeRules::default();
    for rule in &settings.redaction {
        let directions = [
            (Direction::ToModel, &rule.to_model),
            (Direction::Logs, &rule.logs),
            (Direction::ToServers, &rule.to_servers),
        ];
        for (direction, action) in directions {
            let Some(action) = action.as_deref().and_then(ShapeAction::from_name) else {
                continue;
            };
            for shape in &rule.shapes {
                if let Err(error) = rules.add(shape, direction, action) {
                    tracing::error!("`redaction.rule`: {error}");
                }
            }
        }
    }
    rules
}

fn add_entry(known: &KnownSecrets, entry: &ServerEntry) {
    let source = entry.name.as_str();
    match &entry.definition {
        Ok(Transport::Stdio { args, env, .. }) => known.add_process(source, env, args),
        Ok(Transport::Http { url, headers, .. }) => {
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
            known.add_address(source, url, headers);
        }
        Err(_) => {}
    }
    let oauth = [&entry.oauth.client_secret, &entry.oauth.private_key];
    for secret in oauth.into_iter().flatten() {
        if SecretReference::parse(secret).is_none() {
            known.add_secret(source, secret);
        }
    }
}
