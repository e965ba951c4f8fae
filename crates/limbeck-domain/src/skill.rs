//! Skills: functions and programs that are kept, with a name and a version, for later programs.

use serde::{Deserialize, Serialize};

use crate::{EffectClass, Language, ServerName};

/// Name of a skill: an identifier in both languages.
pub const SKILL_NAME_BYTES_MAX: usize = 64;
/// What a guest runs of a skill: as much as a program, with what its compiler adds.
pub const SKILL_SOURCE_BYTES_MAX: usize = 512 << 10;
/// Description of a skill, which listings and searches show.
pub const SKILL_DESCRIPTION_BYTES_MAX: usize = 2_000;
/// Skills of one principal, those that wait for a person included.
pub const SKILLS_MAX: usize = 1_000;
/// Tools that are noted of one skill.
pub const SKILL_TOOLS_MAX: usize = 200;

/// Names that `skills` has itself.
pub const SKILL_NAMES_TAKEN: &[&str] = &[
    "save",
    "list",
    "get",
    "remove",
    "then",
    "constructor",
    "toString",
    "toJSON",
    "valueOf",
];

/// Form of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillForm {
    /// A function, which takes its own arguments.
    Function,
    /// A whole program, whose `input` is the one argument.
    Program,
}

/// A tool that a skill calls, as its server defined it when the skill was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillTool {
    /// Its server.
    pub server: ServerName,
    /// Its name.
    pub tool: String,
    /// What a call of it may do.
    pub effect: EffectClass,
    /// SHA-256 of its definition.
    pub sha256: String,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Number of this state, from 1: each change adds one.
    pub version: u32,
    /// Its language.
    pub language: Language,
    /// Its form.
    pub form: SkillForm,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How it is called, with types where they are known.
    pub signature: String,
    /// What the guest runs: of TypeScript without its types.
    pub source: String,
    /// What a person reads, where that is not `source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Tools that it calls by constant names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<SkillTool>,
    /// Whether it may call tools under names that are computed.
    #[serde(default, skip_serializing_if = "is_no")]
    pub calls_more: bool,
    /// The recorded execution that it came from, which is its test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// When this version was kept, in microseconds since 1970.
    pub saved_us: u64,
}

impl Skill {
    /// What a person reads of it.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.source)
    }

    /// Whether it may change something: it calls a tool that is not known to read only, or one that is not known.
    pub fn may_write(&self) -> bool {
        self.calls_more
            || self
                .tools
                .iter()
                .any(|tool| tool.effect != EffectClass::Read)
    }

    /// Whether `other` does and says the same; version, time and recorded run do not count.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let plain = |skill: &Self| Self {
            version: 0,
            execution: None,
            saved_us: 0,
            ..skill.clone()
        };
        plain(self) == plain(other)
    }
}

/// Whether `name` can be that of a skill: an identifier in both languages, and no name that `skills` has itself.
pub fn is_skill_name(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    begins
        && name.len() <= SKILL_NAME_BYTES_MAX
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !SKILL_NAMES_TAKEN.contains(&name)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_no(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_that_skills_does_not_have_itself() {
        for name in ["report", "monthly_report2", "getAll"] {
            assert!(is_skill_name(name), "{name}");
        }
        let long = "a".repeat(SKILL_NAME_BYTES_MAX + 1);
        for name in ["", "2x", "_x", "a-b", "a.b", "é", "save", "list", &long] {
            assert!(!is_skill_name(name), "{name}");
        }
    }
}
