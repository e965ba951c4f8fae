//! `skills` of a program: kept, found by name, listed and removed.

use limbeck_catalog::nearest::nearest_tools;
use limbeck_domain::skill::SKILL_DESCRIPTION_BYTES_MAX;
use limbeck_domain::text::{clean_line, cut};
use limbeck_domain::{CallCode, CallError, Language, Skill, SkillForm, ToolId, is_skill_name};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Broker;
use crate::clock::now_us;
use crate::skills::{self, SkillError, SkillSaved};
use crate::store_errors::query_error;

/// Names that a program asks for at once, at most.
const NAMES_MAX: usize = 200;
/// Bytes of a name in an error.
const NAME_SHOWN_BYTES: usize = 80;

/// Body of [`limbeck_domain::HostOp::Skill`].
#[derive(Deserialize)]
pub(super) struct SkillBody {
    #[serde(rename = "do")]
    action: SkillAction,
    #[serde(default)]
    name: String,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// Arguments of a function: `(path, limit = 5)`.
    #[serde(default)]
    arguments: Option<String>,
    /// Version that it replaces, 0 for none.
    #[serde(default)]
    if_version: Option<u32>,
    /// Execution whose program is to be kept.
    #[serde(default)]
    execution: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SkillAction {
    Save,
    Get,
    Find,
    List,
    Remove,
}

impl SkillBody {
    pub(super) fn writes(&self) -> bool {
        match self.action {
            SkillAction::Save | SkillAction::Remove => true,
            SkillAction::Get | SkillAction::Find | SkillAction::List => false,
        }
    }
}

impl Broker {
    pub(super) async fn skill(&self, body: SkillBody) -> Result<String, CallError> {
        match body.action {
            SkillAction::Save => self.save_skill(body).await,
            SkillAction::Get => self.get_skill(&body.name).await,
            SkillAction::Find => self.find_skills(&body.names).await,
            SkillAction::List => self.list_skills().await,
            SkillAction::Remove => self.remove_skill(&body.name, body.if_version).await,
        }
    }

    async fn save_skill(&self, body: SkillBody) -> Result<String, CallError> {
        if !is_skill_name(&body.name) {
            let name = clean_line(&body.name, NAME_SHOWN_BYTES);
            return Err(save_error(SkillError::Name(name)));
        }
        let catalog = self.context.live_catalog.snapshot();
        let store = &self.context.store;
        let mut skill = match (&body.execution, body.source) {
            (Some(id), _) => {
                let made = skills::from_execution(store, &catalog, &self.principal, id, &body.name);
                made.await.map_err(save_error)?
            }
            (None, Some(source)) => {
                let sites = self.program.sites.get();
                let (tools, calls_more) = match sites {
                    Some(sites) => skills::tools_in(sites, (&self.program.text, &source), &catalog),
                    None => (Vec::new(), false),
                };
                let typed = match self.language {
                    Language::Typescript => skills::typed_arguments(&self.program.text, &body.name),
                    Language::Python => None,
                };
                let arguments = typed.as_deref().or(body.arguments.as_deref());
                Skill {
                    signature: skills::of_function(&body.name, arguments),
                    name: body.name,
                    version: 0,
                    language: self.language,
                    form: SkillForm::Function,
                    description: String::new(),
                    source,
                    text: None,
                    tools,
                    calls_more,
                    execution: self.journal.execution().map(ToString::to_string),
                    saved_us: now_us(),
                }
            }
            (None, None) => {
                let message = "a skill is a function, or the program of an execution";
                return Err(CallError::new(CallCode::InvalidArguments, message).with_hint(
                    "give `skills.save` a function, or `{name, execution}` with the id of an execution that completed",
                ));
            }
        };
        let description = body.description.unwrap_or_default();
        skill.description = cut(description.trim(), SKILL_DESCRIPTION_BYTES_MAX).to_owned();
        let policy = self.context.policy.newest();
        let is_proposed = skills::needs_a_person(&skill, &policy, &self.principal);
        let saved = skills::put(store, &self.principal, skill, is_proposed, body.if_version);
        let saved: SkillSaved = saved.await.map_err(save_error)?;
        Ok(json!(saved).to_string())
    }

    async fn get_skill(&self, name: &str) -> Result<String, CallError> {
        let store = &self.context.store;
        let found = store.skill(&self.principal, name, false).await;
        if let Some(found) = found.map_err(|error| query_error(&error))? {
            let skill = found.skill;
            if skill.language != self.language {
                return Err(other_language(&skill));
            }
            return Ok(run_json(&skill).to_string());
        }
        let shown = clean_line(name, NAME_SHOWN_BYTES);
        let proposed = store.skill(&self.principal, name, true).await;
        if proposed.map_err(|error| query_error(&error))?.is_some() {
            let message = format!("skill `{shown}` waits for a person, because it may write");
            return Err(CallError::new(CallCode::Denied, message).with_hint(format!(
                "the user looks at it with `limbeck skills {shown}` and accepts it with `limbeck skills accept {shown}`"
            )));
        }
        let all = store.skills(Some(&self.principal)).await;
        let all = all.map_err(|error| query_error(&error))?;
        let ids: Vec<ToolId> = all
            .iter()
            .filter(|stored| !stored.is_proposed)
            .map(|stored| ToolId::new(skills::SKILLS_SERVER, stored.skill.name.as_str()))
            .collect();
        let near = nearest_tools(ids.iter(), name);
        let near: Vec<String> = near
            .iter()
            .map(|id| format!("`skills.{}`", id.tool))
            .collect();
        let hint = match (near.is_empty(), ids.is_empty()) {
            (false, _) => format!("did you mean {}?", near.join(", ")),
            (true, false) => "`await skills.list()` lists the skills there are".to_owned(),
            (true, true) => "no skill is kept yet; `skills.save(function)` keeps one".to_owned(),
        };
        let message = format!("there is no skill `{shown}`");
        Err(CallError::new(CallCode::UnknownTool, message).with_hint(hint))
    }

    /// Those of some names that are skills of this language.
    async fn find_skills(&self, names: &[String]) -> Result<String, CallError> {
        let mut found = Vec::new();
        for name in names
            .iter()
            .take(NAMES_MAX)
            .filter(|name| is_skill_name(name))
        {
            let stored = self.context.store.skill(&self.principal, name, false).await;
            let stored = stored.map_err(|error| query_error(&error))?;
            let skill = stored.map(|stored| stored.skill);
            found.extend(
                skill
                    .filter(|skill| skill.language == self.language)
                    .map(|skill| run_json(&skill)),
            );
        }
        Ok(Value::Array(found).to_string())
    }

    async fn list_skills(&self) -> Result<String, CallError> {
        let all = self.context.store.skills(Some(&self.principal)).await;
        let all = all.map_err(|error| query_error(&error))?;
        let listed = all.iter().map(|stored| {
            let mut listed = json!(skills::hit(&stored.skill));
            if stored.is_proposed {
                listed["waits_for_a_person"] = true.into();
            }
            listed
        });
        Ok(Value::Array(listed.collect()).to_string())
    }

    async fn remove_skill(&self, name: &str, if_version: Option<u32>) -> Result<String, CallError> {
        let removed = self
            .context
            .store
            .remove_skill(&self.principal, name, if_version)
            .await;
        match removed.map_err(|error| query_error(&error))? {
            Ok(found) => Ok(found.is_some().to_string()),
            Err(current) => Err(save_error(SkillError::Conflict {
                name: clean_line(name, NAME_SHOWN_BYTES),
                current,
                expected: if_version.unwrap_or_default(),
            })),
        }
    }
}

/// What a guest needs to run a skill.
fn run_json(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "version": skill.version,
        "form": skill.form,
        "source": skill.source,
    })
}

fn other_language(skill: &Skill) -> CallError {
    let (name, here) = match skill.language {
        Language::Python => ("Python", "python"),
        Language::Typescript => ("TypeScript", "typescript"),
    };
    let message = format!("skill `{}` is written in {name}", skill.name);
    CallError::new(CallCode::InvalidArguments, message).with_hint(format!(
        "call it from a program that is sent with `language: \"{here}\"`"
    ))
}

fn save_error(error: SkillError) -> CallError {
    let message = error.to_string();
    match error {
        SkillError::Store(error) => query_error(&error),
        SkillError::Conflict { name, current, .. } => {
            CallError::new(CallCode::InvalidArguments, message).with_hint(format!(
                "`{name}` was saved meanwhile: look at version {current}, and save with that as the version to replace"
            ))
        }
        SkillError::Full | SkillError::TooLong { .. } => {
            CallError::new(CallCode::LimitExceeded, message)
                .with_hint("`limbeck skills` lists them, `limbeck skills remove NAME` removes one")
        }
        SkillError::Name(_)
        | SkillError::UnknownExecution(_)
        | SkillError::NotCompleted { .. }
        | SkillError::NoProgram(_) => CallError::new(CallCode::InvalidArguments, message),
    }
}
