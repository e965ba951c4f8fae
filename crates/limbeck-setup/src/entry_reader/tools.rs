//! Reader of the rules about an entry's tools: which of them exist for programs and clients.
//!
//! A user who switched a tool off in a client must not get it back through Limbeck, so a rule that cannot be read makes
//! the entry unusable.

use limbeck_domain::ToolRules;

use super::{EntryDialect, EntryReader};
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;

/// Bytes of one pattern.
const PATTERN_BYTES_MAX: usize = 256;
/// Keys with the only tools that exist: Codex and Limbeck, Gemini and Amp, others.
const ONLY: &[&str] = &["enabled_tools", "includeTools", "enabledTools"];
/// Keys with tools that do not exist.
const EXCEPT: &[&str] = &["disabled_tools", "excludeTools", "disabledTools"];

impl EntryReader<'_> {
    /// Reads the rules of the entry at `place`.
    pub(super) fn tool_rules(
        &self,
        place: &ConfigPlace<'_>,
        warnings: &mut Vec<ValueError>,
    ) -> Result<ToolRules, ValueError> {
        let is_own = self.dialect == EntryDialect::Limbeck;
        // Limbeck's own file has the first key of each list, and reports the others as unknown.
        let keys = |all: &'static [&'static str]| if is_own { &all[..1] } else { all };
        let mut rules = ToolRules::default();
        for key in keys(ONLY) {
            if let Some(found) = place.get(key)? {
                rules.only.push(patterns(&found)?);
            }
        }
        for key in keys(EXCEPT) {
            if let Some(found) = place.get(key)? {
                rules.except.extend(patterns(&found)?);
            }
        }
        if !is_own && let Some(found) = place.get("tools")? {
            // A list is Copilot's rule; Codex has a table of approvals by tool, which Limbeck has not.
            match found.list() {
                Ok(_) => rules.only.push(patterns(&found)?),
                Err(_) => {
                    warnings.push(found.malformed_key("is not supported and is ignored"));
                }
            }
        }
        let count = rules.only.iter().map(Vec::len).sum::<usize>() + rules.except.len();
        if count > ToolRules::PATTERNS_MAX {
            let problem = format!("names more than {} tools", ToolRules::PATTERNS_MAX);
            return Err(place.malformed(problem));
        }
        // Copilot writes `["*"]` into every entry.
        rules.only.retain(|patterns| *patterns != ["*"]);
        Ok(rules)
    }
}

/// A list of patterns, or one pattern as a string.
fn patterns(place: &ConfigPlace<'_>) -> Result<Vec<String>, ValueError> {
    let pattern = |place: &ConfigPlace<'_>| {
        let text = place.text()?;
        if text.len() > PATTERN_BYTES_MAX {
            return Err(place.malformed(format!("is longer than {PATTERN_BYTES_MAX} bytes")));
        }
        // Gemini also accepts a tool with arguments, `name(…)`, which names the tool.
        let name = text.split_once('(').map_or(text, |(name, _)| name);
        Ok(name.to_owned())
    };
    if place.text().is_ok() {
        return Ok(vec![pattern(place)?]);
    }
    place.list()?.iter().map(pattern).collect()
}
