//! Test of a skill: its tools as they are defined now, its calls against their schemas, and its recorded run once more.

use limbeck_catalog::Finding;
use limbeck_domain::{Mode, Skill, ToolId};
use limbeck_policy::Scope;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::approvals::OnAsk;
use crate::executor::{AnswerForm, ExecuteRequest, ReplayError};
use crate::gateway::Gateway;
use crate::models::ModelsRequest;

/// State of a tool that a skill calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillToolState {
    /// It is defined as it was when the skill was kept.
    Same,
    /// Its definition is another one.
    Changed,
    /// Its server does not have it any more.
    Missing,
    /// The tools of its server are not known.
    Unknown,
}

/// A tool that a skill calls, and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillToolHealth {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Its state.
    pub state: SkillToolState,
}

/// The recorded run of a skill, repeated without servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillRun {
    /// The execution.
    pub execution_id: String,
    /// Whether it did the same again; absent when it could not be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identical: Option<bool>,
    /// How it differed, or why it could not be repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}

/// Outcome of the test of a skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillHealth {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Whether it can be expected to work: every tool is there, no call is wrong, and the recorded run was the same.
    pub ok: bool,
    /// Its tools.
    pub tools: Vec<SkillToolHealth>,
    /// Calls that do not fit their tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Finding>,
    /// Its recorded run; absent when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<SkillRun>,
}

impl Gateway {
    /// Tests a skill of `principal`: nothing is sent to a server but requests for lists of tools.
    pub async fn test_skill(&self, principal: &str, skill: &Skill) -> SkillHealth {
        let request = ExecuteRequest {
            language: skill.language,
            program: skill.text().to_owned(),
            input: "null".to_owned(),
            timeout_ms: None,
            scope: Scope::everything(),
            principal: principal.to_owned(),
            origin: "skills".to_owned(),
            answer: AnswerForm::default(),
            on_ask: OnAsk::Fail,
            models: ModelsRequest::default(),
        };
        // Lists the tools of the servers that it calls.
        let cancel = CancellationToken::new();
        let examined = self.examine(request, Mode::Check, &cancel).await;
        let (errors, unchecked) = match examined {
            Ok(examination) => (examination.findings.errors, None),
            Err(error) => (Vec::new(), Some(error.message)),
        };
        let tools: Vec<SkillToolHealth> = skill
            .tools
            .iter()
            .map(|tool| {
                let catalog = self.catalog();
                let id = ToolId::new(tool.server.as_str(), tool.tool.as_str());
                let state = match catalog.tool(&id) {
                    Some(now) if now.hash() == tool.sha256 => SkillToolState::Same,
                    Some(_) => SkillToolState::Changed,
                    None if catalog.tools_of(&id.server).is_empty() => SkillToolState::Unknown,
                    None => SkillToolState::Missing,
                };
                SkillToolHealth {
                    server: tool.server.to_string(),
                    tool: tool.tool.clone(),
                    state,
                }
            })
            .collect();
        let run = match &skill.execution {
            None => None,
            Some(id) => Some(self.run_of_skill(id).await),
        };
        let mut run = run;
        if let Some(reason) = unchecked {
            let run = run.get_or_insert_with(|| SkillRun {
                execution_id: String::new(),
                identical: None,
                differences: Vec::new(),
            });
            run.differences
                .push(format!("its calls were not checked: {reason}"));
        }
        let is_there = |tool: &SkillToolHealth| {
            matches!(tool.state, SkillToolState::Same | SkillToolState::Changed)
        };
        SkillHealth {
            name: skill.name.clone(),
            version: skill.version,
            ok: errors.is_empty()
                && tools.iter().all(is_there)
                && run.as_ref().is_none_or(|run| run.identical != Some(false)),
            tools,
            errors,
            run,
        }
    }

    async fn run_of_skill(&self, id: &str) -> SkillRun {
        let (identical, differences) = match self.replay(id).await {
            Ok(report) => (Some(report.differences.is_empty()), report.differences),
            Err(error @ ReplayError::Unknown { .. }) => {
                (None, vec![format!("it is not kept any more: {error}")])
            }
            Err(error) => (None, vec![error.to_string()]),
        };
        SkillRun {
            execution_id: id.to_owned(),
            identical,
            differences,
        }
    }
}
