//! Skills: functions and programs that are kept for later programs, with the tools they call and a recorded run as a test.
//!
//! A program asks for a skill with a host call and runs its source itself, so the calls of a skill are calls of the program:
//! under its policy, its journal and its limits, and a replay gives it the source that it got. No source is read here; the
//! tools of a skill come from what a worker found in the text of the program that it was in.

mod health;
mod signature;

use std::collections::BTreeMap;
use std::sync::Arc;

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::skill::SKILL_TOOLS_MAX;
use limbeck_domain::text::cut;
use limbeck_domain::{
    CallForm, EffectClass, ExecutionStatus, JournalEntry, Language, ServerName, Sites, Skill,
    SkillForm, SkillTool, ToolAnnotations, ToolDefinition, ToolId, ToolTarget,
    limits::QUERY_BYTES_MAX,
};
use limbeck_policy::Requester;
use limbeck_search::{SearchQuery, SearchableCatalog};
use limbeck_store::{NewSkill, SavedSkill, Store, StoreError, StoredSkill};
use serde::Serialize;

pub use health::{SkillHealth, SkillRun, SkillToolHealth, SkillToolState};
pub(crate) use signature::{of_function, typed_arguments};

use crate::clock::now_us;
use crate::executor::{erased_script, inner_calls};
use crate::policy_in_force::PolicyVersion;

/// Skills that one query finds, at most: they are listed before the tools.
const FOUND_MAX: usize = 3;
/// Skills that one request finds, at most.
pub(crate) const FOUND_IN_ALL_MAX: usize = 6;
/// Server under which skills are ranked and shown.
pub const SKILLS_SERVER: &str = "skills";

/// A skill that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillHit {
    /// Its name.
    pub name: String,
    /// Callable expression.
    pub call: String,
    /// How it is called, with types where they are known.
    pub signature: String,
    /// What it is for.
    pub description: String,
    /// Language of the programs that can call it.
    pub language: Language,
    /// Its version.
    pub version: u32,
}

/// Why an execution cannot become a skill.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The name cannot be that of a skill.
    #[error(
        "`{0}` cannot be the name of a skill: letters, digits and `_`, a letter first, at most 64"
    )]
    Name(String),
    /// No execution of the principal has this id.
    #[error("no execution has the id `{0}`")]
    UnknownExecution(String),
    /// Only what completed is kept.
    #[error("execution `{id}` is {status}; only one that completed can become a skill")]
    NotCompleted {
        /// Its id.
        id: String,
        /// Its status.
        status: &'static str,
    },
    /// Its program is not in the journal any more, or was a direct call.
    #[error("the program of execution `{0}` is not recorded")]
    NoProgram(String),
    /// Another version is there than the one it was to replace.
    #[error("skill `{name}` is at version {current}, not {expected}")]
    Conflict {
        /// Its name.
        name: String,
        /// The version that is there; 0 for none.
        current: u32,
        /// The version it was to replace.
        expected: u32,
    },
    /// Too many skills.
    #[error(
        "there are {} skills, which is the bound",
        limbeck_domain::skill::SKILLS_MAX
    )]
    Full,
    /// It is larger than a skill may be.
    #[error(
        "its source has {bytes} bytes, at most {} are kept",
        limbeck_domain::skill::SKILL_SOURCE_BYTES_MAX
    )]
    TooLong {
        /// Its size.
        bytes: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillSaved {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// How it is called.
    pub call: String,
    /// Whether the same was there already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Whether it waits for a person before programs can call it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_a_person: bool,
    /// The tools that it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// Tools that a text calls by constant names, of those that a worker found in the program around it, as they are defined now;
/// and whether it may call others.
pub(crate) fn tools_in(
    sites: &Sites,
    (program, text): (&str, &str),
    catalog: &Catalog,
) -> (Vec<SkillTool>, bool) {
    let mut tools = BTreeMap::new();
    let mut calls_more = sites.unread.is_some();
    for site in sites.sites.iter().filter(|site| text.contains(&*site.tool)) {
        let target = ToolTarget {
            server: site.server.clone(),
            tool: site.tool.clone(),
            form: CallForm::Value,
        };
        match catalog.resolve(&target) {
            Ok(resolved) => {
                tools.insert(resolved.tool.id().clone(), skill_tool(&resolved.tool));
            }
            Err(_) => calls_more = true,
        }
    }
    const WAYS: [&str; 6] = [
        "tools",
        "callMCPTool",
        "call_tool",
        "call_mcp_tool",
        "mcp_",
        "eval",
    ];
    let uses_skills = text.contains("skills");
    // A line of the program that only keeps the skill calls nothing.
    let counts = |line: u32| {
        let line = program.lines().nth(line.saturating_sub(1) as usize);
        uses_skills || line.is_none_or(|line| !line.contains("skills"))
    };
    let is_dynamic = sites.dynamic.iter().any(|site| counts(site.line));
    calls_more |= uses_skills || is_dynamic && WAYS.iter().any(|way| text.contains(way));
    calls_more |= tools.len() > SKILL_TOOLS_MAX;
    let tools = tools.into_values().take(SKILL_TOOLS_MAX).collect();
    (tools, calls_more)
}

fn skill_tool(tool: &limbeck_catalog::Tool) -> SkillTool {
    SkillTool {
        server: tool.id().server.clone(),
        tool: tool.id().tool.to_string(),
        effect: tool.effect(),
        sha256: tool.hash().to_owned(),
    }
}

/// Whether a person has to see a skill before programs can call it: it may write, and the policy asks about a call of its
/// tools or denies it. Where it may call tools that are not known, whether the policy asks about anything.
pub(crate) fn needs_a_person(skill: &Skill, policy: &PolicyVersion, principal: &str) -> bool {
    let requester = Requester::of_principal(principal);
    let who = requester.names();
    let asks = |tool: &SkillTool| {
        let id = ToolId::new(tool.server.as_str(), tool.tool.as_str());
        tool.effect != EffectClass::Read && policy.policy().note(&id, tool.effect, &who).is_some()
    };
    skill.tools.iter().any(asks) || (skill.calls_more && policy.policy().asks())
}

/// A skill made of a recorded execution of `principal`, without name, description and version.
pub(crate) async fn from_execution(
    store: &Store,
    catalog: &Catalog,
    principal: &str,
    id: &str,
    name: &str,
) -> Result<Skill, SkillError> {
    let record = store.execution(id).await?;
    let record = record
        .filter(|record| record.row.principal == principal)
        .ok_or_else(|| SkillError::UnknownExecution(cut(id, 80).to_owned()))?;
    let id = record.row.id.to_string();
    if record.row.status != ExecutionStatus::Completed {
        return Err(SkillError::NotCompleted {
            id,
            status: record.row.status.as_str(),
        });
    }
    if crate::direct::called_tool(&record.row.origin, &record.start.program).is_some() {
        return Err(SkillError::NoProgram(id));
    }
    let journal = store.journal(&record.row.id).await?;
    let program = record.start.program.clone();
    let language = record.start.language;
    let (source, text) = match language {
        Language::Python => (program.clone(), None),
        Language::Typescript => {
            let erased = journal.iter().find_map(|entry| match entry {
                JournalEntry::Erased(recorded) => erased_script(recorded.clone()),
                _ => None,
            });
            let script = erased.ok_or_else(|| SkillError::NoProgram(id.clone()))?;
            (script, Some(program.clone()))
        }
    };
    let sites = journal.iter().find_map(|entry| match entry {
        JournalEntry::Check { sites, .. } => Sites::parse(sites).ok(),
        _ => None,
    });
    let (mut tools, calls_more) =
        tools_in(&sites.unwrap_or_default(), (&program, &program), catalog);
    // What it called under names that it computed.
    for call in inner_calls(&journal) {
        let Some(tool) = call.tool.and_then(|id| catalog.tool(&id).cloned()) else {
            continue;
        };
        let tool = skill_tool(&tool);
        if !tools.contains(&tool) && tools.len() < SKILL_TOOLS_MAX {
            tools.push(tool);
        }
    }
    let value = record.envelope.as_ref().and_then(|it| it.value.as_deref());
    let value = value.map(serde_json::value::RawValue::get);
    Ok(Skill {
        name: name.to_owned(),
        version: 0,
        language,
        form: SkillForm::Program,
        description: String::new(),
        signature: signature::of_program(name, &record.start.input, value, language),
        source,
        text,
        tools,
        calls_more,
        execution: Some(id),
        saved_us: now_us(),
    })
}

/// Skills that match a query, best first.
pub(crate) fn found(skills: &[StoredSkill], query: &str) -> Vec<SkillHit> {
    let in_use: Vec<&Skill> = skills
        .iter()
        .filter(|stored| !stored.is_proposed)
        .map(|stored| &stored.skill)
        .collect();
    if in_use.is_empty() {
        return Vec::new();
    }
    let definitions = in_use.iter().map(|skill| ToolDefinition {
        id: ToolId::new(SKILLS_SERVER, skill.name.as_str()),
        title: None,
        description: Some(skill.description.clone()).filter(|text| !text.is_empty()),
        input_schema: serde_json::json!({"type": "object"}),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    });
    let server = ServerTools::new(ServerName::from(SKILLS_SERVER), definitions.collect(), None);
    let catalog = SearchableCatalog::new(Arc::new(Catalog::new(vec![server])));
    let answer = catalog.search(&SearchQuery {
        limit: FOUND_MAX,
        ..SearchQuery::new(cut(query, QUERY_BYTES_MAX))
    });
    let hits = answer.hits.iter().take(answer.relevant);
    let skill_of = |name: &str| in_use.iter().find(|skill| skill.name == name);
    hits.filter_map(|hit| skill_of(&hit.tool.id().tool))
        .map(|skill| hit(skill))
        .collect()
}

/// What listings say of a skill.
pub(crate) fn hit(skill: &Skill) -> SkillHit {
    SkillHit {
        name: skill.name.clone(),
        call: format!("{SKILLS_SERVER}.{}", skill.name),
        signature: skill.signature.clone(),
        description: skill.description.clone(),
        language: skill.language,
        version: skill.version,
    }
}

/// What a writer learns of a skill that was kept; `None` when it was not.
pub(crate) fn saved(skill: &Skill, saved: SavedSkill, is_proposed: bool) -> Option<SkillSaved> {
    let (version, unchanged) = match saved {
        SavedSkill::Kept(version) => (version, false),
        SavedSkill::Unchanged(version) => (version, true),
        SavedSkill::Conflict(_) | SavedSkill::Full => return None,
    };
    let tools = skill.tools.iter();
    Some(SkillSaved {
        name: skill.name.clone(),
        version,
        call: format!("{SKILLS_SERVER}.{}", skill.name),
        unchanged,
        waits_for_a_person: is_proposed && !unchanged,
        tools: tools
            .map(|tool| format!("{}.{}", tool.server, tool.tool))
            .collect(),
    })
}

/// Keeps a skill.
pub(crate) async fn put(
    store: &Store,
    principal: &str,
    skill: Skill,
    is_proposed: bool,
    if_version: Option<u32>,
) -> Result<SkillSaved, SkillError> {
    let bytes = skill.source.len().max(skill.text().len());
    if bytes > limbeck_domain::skill::SKILL_SOURCE_BYTES_MAX {
        return Err(SkillError::TooLong { bytes });
    }
    let new = NewSkill {
        skill: skill.clone(),
        is_proposed,
        if_version,
    };
    let outcome = store.put_skill(principal, new).await?;
    match (saved(&skill, outcome, is_proposed), outcome) {
        (Some(saved), _) => Ok(saved),
        (None, SavedSkill::Conflict(current)) => Err(SkillError::Conflict {
            name: skill.name,
            current,
            expected: if_version.unwrap_or_default(),
        }),
        (None, _) => Err(SkillError::Full),
    }
}
