//! The sections `[redaction]`, `[audit]` and `[retention]`: what leaves, and what is kept.
//!
//! A repository's file cannot set any of them: it could hide what its own servers did, or fill the disk.

use std::path::PathBuf;

use super::Loader;
use super::open_file::OpenFile;
use crate::configuration::{RedactionRule, Setting};
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

const REDACTION_KEYS: &[&str] = &["rule"];
const RULE_KEYS: &[&str] = &["logs", "shapes", "to_model", "to_servers"];
const AUDIT_KEYS: &[&str] = &["anchor", "fail_closed", "key", "records", "segments"];
const RETENTION_KEYS: &[&str] = &["days", "executions"];
/// Shapes and groups of them that a rule may name.
pub(crate) const SHAPE_NAMES: &[&str] = &[
    "aws_key",
    "card",
    "email",
    "github_token",
    "google_key",
    "iban",
    "jwt",
    "openai_key",
    "personal",
    "private_key",
    "secrets",
    "slack_token",
    "stripe_key",
];
/// What a rule may do.
const ACTIONS: &[&str] = &["mark", "mask", "block"];
/// What a rule may do with arguments: what was marked would be marked again when a call is decided about again.
const ACTIONS_TO_SERVERS: &[&str] = &["mask", "block"];
/// Rules of all files.
const RULES_MAX: usize = 100;
/// Bounds on `audit.records`: those of a day, and some four gigabytes.
const RECORDS: (u64, u64) = (1_000, 10_000_000);
/// Bounds on `retention.days`: ten years at most.
const DAYS: (u64, u64) = (1, 3_650);
/// Bounds on `retention.executions`.
const EXECUTIONS: (u64, u64) = (10, 1_000_000);

impl Loader<'_> {
    /// Whether the section may be set here; reports one of a repository.
    fn is_users(&mut self, file: &OpenFile<'_>, place: &ConfigPlace<'_>, what: &str) -> bool {
        if file.source.scope != EntryScope::Repository {
            return true;
        }
        let problem = place.malformed_key(format!(
            "is ignored: a file of a repository cannot choose {what}"
        ));
        self.report(file, Severity::Warning, problem);
        false
    }

    pub(super) fn read_redaction(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if !self.is_users(file, place, "what is taken out of answers") {
            return Ok(());
        }
        let mut rules = Vec::new();
        for (key, value) in place.entries()? {
            match key {
                "rule" => {
                    for rule in value.list()? {
                        rules.push(redaction_rule(&rule)?);
                    }
                }
                _ => return Err(value.malformed_key(unknown_key(REDACTION_KEYS, key))),
            }
        }
        let all = &mut self.found.settings.redaction;
        if all.len() + rules.len() > RULES_MAX {
            return Err(place.malformed(format!("there are more than {RULES_MAX} rules")));
        }
        all.extend(rules);
        Ok(())
    }

    pub(super) fn read_audit(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if !self.is_users(file, place, "how the audit trail is kept") {
            return Ok(());
        }
        let mut audit = self.found.settings.audit.clone();
        for (key, value) in place.entries()? {
            match key {
                "key" => audit.key = Some(self.path_of(&value)?),
                "anchor" => audit.anchor = Some(self.path_of(&value)?),
                "segments" => audit.segments = Some(self.path_of(&value)?),
                "records" => audit.records = Some(value.number(RECORDS.0, RECORDS.1)?),
                "fail_closed" => audit.fail_closed = value.boolean()?,
                _ => return Err(value.malformed_key(unknown_key(AUDIT_KEYS, key))),
            }
        }
        if let (Some(_), None, Some(value)) = (&audit.anchor, &audit.key, place.get("anchor")?) {
            return Err(value.malformed("needs `audit.key`: what an anchor has is signed"));
        }
        self.found.settings.audit = audit;
        Ok(())
    }

    pub(super) fn read_retention(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if !self.is_users(file, place, "how long executions are kept") {
            return Ok(());
        }
        let mut retention = self.found.settings.retention.clone();
        for (key, value) in place.entries()? {
            let (min, max) = match key {
                "days" => DAYS,
                "executions" => EXECUTIONS,
                _ => return Err(value.malformed_key(unknown_key(RETENTION_KEYS, key))),
            };
            let setting = Some(Setting {
                value: value.number(min, max)?,
                origin: file.origin(&value),
            });
            match key {
                "days" => retention.days = setting,
                _ => retention.executions = setting,
            }
        }
        self.found.settings.retention = retention;
        Ok(())
    }

    /// An absolute path, or one in the home directory.
    fn path_of(&self, place: &ConfigPlace<'_>) -> Result<PathBuf, ValueError> {
        let text = place.text()?;
        let path = match (text.strip_prefix("~/"), &self.discovery.world.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        if !path.is_absolute() {
            return Err(place.malformed("expected an absolute path, or one that begins with `~/`"));
        }
        Ok(path)
    }
}

fn redaction_rule(place: &ConfigPlace<'_>) -> Result<RedactionRule, ValueError> {
    let mut rule = RedactionRule::default();
    for (key, value) in place.entries()? {
        match key {
            "shapes" => {
                for shape in value.list()? {
                    let name = shape.text()?;
                    if !SHAPE_NAMES.contains(&name) {
                        let names = SHAPE_NAMES.join(", ");
                        return Err(shape.malformed(format!("expected one of {names}")));
                    }
                    rule.shapes.push(name.to_owned());
                }
            }
            "to_model" => rule.to_model = Some(action(&value, ACTIONS)?),
            "logs" => rule.logs = Some(action(&value, ACTIONS)?),
            "to_servers" => rule.to_servers = Some(action(&value, ACTIONS_TO_SERVERS)?),
            _ => return Err(value.malformed_key(unknown_key(RULE_KEYS, key))),
        }
    }
    if rule.shapes.is_empty() {
        return Err(place.malformed("has no `shapes`"));
    }
    if rule.to_model.is_none() && rule.logs.is_none() && rule.to_servers.is_none() {
        return Err(place.malformed("has none of `to_model`, `to_servers` and `logs`"));
    }
    Ok(rule)
}

fn action(place: &ConfigPlace<'_>, accepted: &[&str]) -> Result<String, ValueError> {
    let named = place.text()?;
    if accepted.contains(&named) {
        return Ok(named.to_owned());
    }
    let accepted = accepted.join("` or `");
    Err(place.malformed(format!("expected `{accepted}`")))
}
