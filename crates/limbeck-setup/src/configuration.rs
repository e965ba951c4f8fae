//! Input and result of loading: where to look, and what was found.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use limbeck_domain::{EffectClass, ServerName, Tier, ToolId};
use limbeck_policy::budget::{Budget, Budgets};
use limbeck_policy::rules::{Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Classes, DoubtRule, DoubtRules, Policy, PolicyFault, Scope as ToolScope};

use crate::diagnostic::Diagnostic;
use crate::entry::{Origin, ServerEntry};
use crate::trust::TrustPolicy;
use crate::world::World;

/// Where to look for configuration, and which servers of a repository to accept.
#[derive(Clone, Copy)]
pub struct Discovery<'a> {
    /// The machine whose files are read.
    pub world: &'a World,
    /// Files named with `--config`.
    pub config_files: &'a [PathBuf],
    /// Whether the well-known places are searched too.
    pub discover: bool,
    /// The administrator's file of rules, which is read in any case; `None` on a system without one.
    pub managed: Option<ManagedFile<'a>>,
    /// Which servers of a repository's files are accepted.
    pub trust_policy: TrustPolicy<'a>,
}

/// The administrator's file of rules.
#[derive(Clone, Copy)]
pub struct ManagedFile<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Number of the user to whom it has to belong.
    pub owner: u32,
}

/// Result of loading.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Servers in the order in which their names first appeared; each name once.
    pub servers: Vec<ServerEntry>,
    /// Entries of a repository that wait for trust under the name of a server that is in use.
    pub held_back: Vec<ServerEntry>,
    /// Findings for the user.
    pub diagnostics: Vec<Diagnostic>,
    /// Files that exist and were read, weakest first.
    pub sources: Vec<PathBuf>,
    /// Settings of `limbeck.toml` besides servers.
    pub settings: Settings,
}

/// Settings of `limbeck.toml` besides servers.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `limits.wall_ms`: wall clock of an execution whose request sets none, in milliseconds.
    pub wall_ms: Option<Setting<u64>>,
    /// `limits.disk_free_mib`: free space of the state's file system below which no program runs, in MiB. A repository's
    /// file cannot set it.
    pub disk_free_mib: Option<Setting<u64>>,
    /// `sandbox.minimum_tier`: workers below it get no program. `None` means [`Tier::MINIMUM_DEFAULT`].
    pub minimum_tier: Option<Setting<Tier>>,
    /// `sandbox.require_layers`: layers that have to hold around a worker in any tier, in the order of [`limbeck_domain::Layer::ALL`]. In a file
    /// that is not a repository's it is a floor of its own: without `minimum_tier`, [`Tier::Wasm`] is enough beside these layers.
    pub require_layers: Option<Setting<Vec<limbeck_domain::Layer>>>,
    /// `observe = false`: nothing is learnt from results, even where an entry allows it. `None` means that results are
    /// learnt from. Any file can switch it off, and none can switch it on again.
    pub observe: Option<Setting<bool>>,
    /// `[search.embeddings]`: endpoint that embeds texts. `None` means the table in the binary. A repository's
    /// file cannot set it.
    pub embeddings: Option<Setting<EmbeddingsEntry>>,
    /// `[llm]`: which models programs may ask, and how much. A repository's file cannot set it.
    pub llm: Option<Setting<LlmEntry>>,
    /// `[notify]`: how people are notified that a question waits. A repository's file cannot set it.
    pub notify: NotifySettings,
    /// `serve.share = false`: a client on standard input and output gets a gateway of its own. `None` means that clients share
    /// one. A repository's file cannot set it.
    pub share: Option<Setting<bool>>,
    /// `[policy]` of all files.
    pub policy: PolicySettings,
    /// `[[redaction.rule]]` of all files of the user.
    pub redaction: Vec<RedactionRule>,
    /// `[audit]`: how the audit trail is kept. A repository's file cannot set it.
    pub audit: AuditSettings,
    /// `[retention]`: how long executions are kept. A repository's file cannot set it.
    pub retention: RetentionSettings,
}

/// What is done with shapes of secrets and of personal data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRule {
    /// Names of shapes and of groups of them.
    pub shapes: Vec<String>,
    /// `mark`, `mask` or `block` in answers and in what commands print.
    pub to_model: Option<String>,
    /// The same in logs and records.
    pub logs: Option<String>,
    /// `mask` or `block` in the arguments of calls.
    pub to_servers: Option<String>,
}

/// How the audit trail is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditSettings {
    /// File of the key that signs checkpoints; it is made when it is missing. Without it nothing is signed.
    pub key: Option<PathBuf>,
    /// File to which each signed checkpoint is appended.
    pub anchor: Option<PathBuf>,
    /// Directory into which records are written before they are removed for their number.
    pub segments: Option<PathBuf>,
    /// Records that are kept.
    pub records: Option<u64>,
    /// Whether nothing runs where records cannot be kept.
    pub fail_closed: bool,
}

/// How long executions are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Executions of one principal that called no tool.
    pub executions: Option<Setting<u64>>,
    /// Days for which an execution is kept.
    pub days: Option<Setting<u64>>,
}

/// `[policy]` of all files together.
#[derive(Clone, Debug, Default)]
pub struct PolicySettings {
    /// Whether some file has the section.
    pub is_set: bool,
    /// Whether a file that is not a repository's has the section, with or without a mistake.
    pub is_operators: bool,
    /// Rules, in the order of the files.
    pub rules: Vec<Rule>,
    /// Presets, each with the layer of its file.
    pub presets: Vec<(Layer, Preset)>,
    /// Classes of tools by patterns.
    pub classes: Vec<(ToolScope, EffectClass)>,
    /// Servers whose hints about the effects of their tools count as the user's word.
    pub trusted_servers: HashSet<ServerName>,
    /// What the operator says about calls in doubt, by tool.
    pub in_doubt: BTreeMap<ToolId, DoubtRule>,
    /// `[[budget]]` of all files, in the order of the files.
    pub budgets: Vec<Budget>,
    /// File, line and problem of a section of the user that could not be read.
    pub fault: Option<String>,
    /// Names of the servers of the configuration, with which patterns of tools are read.
    pub servers: HashSet<ServerName>,
}

impl PolicySettings {
    /// Adds the section of another file.
    pub(crate) fn add(&mut self, section: Self) {
        self.is_set |= section.is_set;
        self.is_operators |= section.is_operators;
        self.rules.extend(section.rules);
        self.presets.extend(section.presets);
        self.classes.extend(section.classes);
        self.trusted_servers.extend(section.trusted_servers);
        self.in_doubt.extend(section.in_doubt);
        self.budgets.extend(section.budgets);
    }

    /// The policy of these settings; `default` decides where no rule matches and no file names a preset.
    pub fn policy(&self, default: Preset) -> Policy {
        let rules = RuleSet::new(self.rules.clone(), &self.presets, default);
        let classes = Classes::new(self.classes.clone(), self.trusted_servers.clone());
        let in_doubt = DoubtRules::new(self.in_doubt.clone());
        let budgets = Budgets::new(self.budgets.clone());
        let problem = self.fault.clone();
        let problem = problem
            .or_else(|| rules.as_ref().err().map(ToString::to_string))
            .or_else(|| classes.as_ref().err().map(ToString::to_string))
            .or_else(|| in_doubt.as_ref().err().map(ToString::to_string))
            .or_else(|| budgets.as_ref().err().map(ToString::to_string));
        Policy {
            rules: rules.unwrap_or_default(),
            classes: classes.unwrap_or_default(),
            in_doubt: in_doubt.unwrap_or_default(),
            budgets: budgets.unwrap_or_default(),
            fault: problem.map(|problem| PolicyFault { problem }),
        }
        .resolved(&self.servers)
    }
}

/// An endpoint with the embeddings interface of OpenAI.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddingsEntry {
    /// Its `http` or `https` address, to which `/embeddings` is added; path and query may hold secrets.
    pub url: String,
    /// Model to request.
    pub model: String,
    /// Reference to the key, such as `env:NAME`; never the key itself.
    pub key: Option<String>,
    /// Whether it may be reached without encryption although it is not on this machine.
    pub allow_http: bool,
}

/// Omits the url, which may hold secrets.
impl fmt::Debug for EmbeddingsEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsEntry")
            .field("model", &self.model)
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

/// Models that programs may ask, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LlmEntry {
    /// `enabled = false`: no program asks a model, not even that of a client.
    pub enabled: Option<bool>,
    /// Provider that answers where the client does not.
    pub provider: Option<ProviderEntry>,
    /// Most rounds of one execution.
    pub rounds: Option<u32>,
    /// Most tokens of one execution.
    pub tokens: Option<u64>,
    /// Time for one answer, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Models that programs may name.
    pub models: Option<Vec<String>>,
    /// System prompts that programs may use.
    pub system_prompts: Option<Vec<String>>,
    /// Whether secrets and personal data are removed from answers.
    pub filter: Option<bool>,
}

/// A provider of models.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Its name: that of a known provider, or `openai-compatible`.
    pub name: String,
    /// Address instead of the provider's own; path and query may hold secrets.
    pub url: Option<String>,
    /// Model of questions that name none.
    pub model: Option<String>,
    /// Reference to the key, such as `env:NAME`; never the key itself.
    pub key: Option<String>,
    /// Whether it may be reached without encryption although it is not on this machine.
    pub allow_http: bool,
}

/// Omits the url, which may hold secrets.
impl fmt::Debug for ProviderEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderEntry")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

/// How people are notified that a question waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifySettings {
    /// Whether the desktop of the user shows it.
    pub desktop: bool,
    /// Webhook that gets it.
    pub webhook: Option<WebhookEntry>,
    /// To whom a question is reported that no person has answered.
    pub escalate: Option<EscalationEntry>,
}

/// `escalate` of `[notify]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationEntry {
    /// Seconds after the question.
    pub after_s: u32,
    /// Names, `user:NAME` and `group:NAME`.
    pub to: Vec<String>,
}

/// A webhook with the secret that signs what is sent to it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookEntry {
    /// Its `http` or `https` address; path and query may hold secrets.
    pub url: String,
    /// Reference to the secret, such as `env:NAME`; never the secret itself.
    pub secret: String,
    /// Whether it may be reached without encryption although it is not on this machine.
    pub allow_http: bool,
}

/// Omits the url, which may hold secrets.
impl fmt::Debug for WebhookEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookEntry")
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// File and line that set it.
    pub origin: Origin,
}
