//! The section `[notify]`: how people are notified that a question waits.

use super::Loader;
use super::embeddings::reference;
use super::open_file::OpenFile;
use super::policy::ask::{seconds, some};
use super::policy::people;
use crate::configuration::{EscalationEntry, NotifySettings, WebhookEntry};
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

/// Keys of `[notify]`.
const KEYS: &[&str] = &["desktop", "webhook", "escalate"];
/// Keys of `escalate`.
const ESCALATE_KEYS: &[&str] = &["after", "to"];
/// Keys of `webhook`.
const WEBHOOK_KEYS: &[&str] = &["allow_http", "secret", "url"];
/// Hint of every error in this section.
const FORM: &str = "the accepted form is [notify] desktop = true, webhook = { url = \"https://…\", secret = \"env:NAME\" }";

impl Loader<'_> {
    /// Reads the section. It decides where names of tools are sent, and which program is started, so a repository's file
    /// cannot set it.
    pub(super) fn read_notify(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if file.source.scope == EntryScope::Repository {
            let problem = place
                .malformed_key("is ignored: a file of a repository cannot choose who is notified");
            self.report(file, Severity::Warning, problem);
            return Ok(());
        }
        let read = self.notify(place).map_err(|error| match error.hint {
            Some(_) => error,
            None => error.with_hint(FORM),
        })?;
        self.found.settings.notify = read;
        Ok(())
    }

    fn notify(&self, place: &ConfigPlace<'_>) -> Result<NotifySettings, ValueError> {
        let mut settings = NotifySettings::default();
        for (key, value) in place.entries()? {
            match key {
                "desktop" => settings.desktop = value.boolean()?,
                "webhook" => settings.webhook = Some(self.webhook(&value)?),
                "escalate" => settings.escalate = Some(escalation(&value)?),
                _ => return Err(value.malformed_key(unknown_key(KEYS, key))),
            }
        }
        Ok(settings)
    }

    fn webhook(&self, place: &ConfigPlace<'_>) -> Result<WebhookEntry, ValueError> {
        for (key, value) in place.entries()? {
            if !WEBHOOK_KEYS.contains(&key) {
                return Err(value.malformed_key(unknown_key(WEBHOOK_KEYS, key)));
            }
        }
        let needed = |key: &str| {
            let found = place.get(key)?;
            found.ok_or_else(|| place.malformed(format!("has no `{key}`")))
        };
        let (url, secret) = (needed("url")?, needed("secret")?);
        let allow_http = match place.get("allow_http")? {
            Some(found) => found.boolean()?,
            None => false,
        };
        Ok(WebhookEntry {
            url: self.address(&url, allow_http, "secret")?,
            secret: reference(&secret)?,
            allow_http,
        })
    }
}

fn escalation(place: &ConfigPlace<'_>) -> Result<EscalationEntry, ValueError> {
    for (key, value) in place.entries()? {
        if !ESCALATE_KEYS.contains(&key) {
            return Err(value.malformed_key(unknown_key(ESCALATE_KEYS, key)));
        }
    }
    let needed = |key: &str| {
        let found = place.get(key)?;
        found.ok_or_else(|| place.malformed(format!("has no `{key}`")))
    };
    Ok(EscalationEntry {
        after_s: seconds(&needed("after")?)?,
        to: some(&needed("to")?, people)?,
    })
}
