//! Request for one execution, and the limits and budget that follow from it.

use limbeck_domain::limits::{
    INPUT_BYTES_MAX, OUTPUT_TOKENS_DEFAULT, OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MIN,
    PROGRAM_BYTES_MAX, WALL_MS_MAX,
};
use limbeck_domain::{
    ErrorKind, ExecutionLimits, GUEST_ABI, Language, Mode, ModelTerms, ProgramError, ProgramStart,
    ToolId, text,
};
use limbeck_policy::Scope;

use crate::approvals::OnAsk;
use crate::clock::now_us;
use crate::listings::Listings;
use crate::live_catalog::LiveCatalog;
use crate::models::ModelsRequest;
use crate::render::Render;

/// Readings of a pattern that are named in an error.
const READINGS_NAMED_MAX: usize = 3;
/// Bytes shown of each.
const PATTERN_BYTES_SHOWN: usize = 160;

/// A program and what it may use.
#[derive(Clone, Debug)]
pub struct ExecuteRequest {
    /// Language of `program`.
    pub language: Language,
    /// Source, as the model sent it.
    pub program: String,
    /// `input` of the program, JSON text.
    pub input: String,
    /// Wall clock in milliseconds; the configured default when absent, cut to the configured maximum.
    pub timeout_ms: Option<u64>,
    /// Tools the program may call.
    pub scope: Scope,
    /// User or client that asks.
    pub principal: String,
    /// Where the request came from, for listings: a client's name or `run`.
    pub origin: String,
    /// How the answer is written.
    pub answer: AnswerForm,
    /// What happens when a person has to be asked about a call.
    pub on_ask: OnAsk,
    /// What the program may ask of models.
    pub models: ModelsRequest,
}

/// Notation and size of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerForm {
    /// Tokens (o200k_base) of the answer; [`OUTPUT_TOKENS_DEFAULT`] when absent, cut to [`OUTPUT_TOKENS_MIN`] and
    /// [`OUTPUT_TOKENS_MAX`].
    pub tokens_max: Option<u64>,
    /// Notation of the answer, in which its tokens are counted.
    pub render: Render,
}

impl AnswerForm {
    /// Tokens of the answer, and a warning when they are not those asked for.
    pub(super) fn budget(&self) -> (usize, Option<String>) {
        let Some(asked) = self.tokens_max else {
            return (OUTPUT_TOKENS_DEFAULT, None);
        };
        let budget = usize::try_from(asked).unwrap_or(usize::MAX);
        let budget = budget.clamp(OUTPUT_TOKENS_MIN, OUTPUT_TOKENS_MAX);
        let warning = (budget as u64 != asked).then(|| {
            format!(
                "max_output_tokens {asked} is outside {OUTPUT_TOKENS_MIN} to {OUTPUT_TOKENS_MAX}; used {budget}"
            )
        });
        (budget, warning)
    }
}

impl ExecuteRequest {
    /// Refuses a request that no worker is needed for.
    pub(super) fn check(&self, live_catalog: &LiveCatalog) -> Result<(), ProgramError> {
        let wrong = |message: String| ProgramError::new(ErrorKind::Request, message);
        if self.program.trim().is_empty() {
            return Err(wrong("the program is empty".to_owned())
                .with_hint("send a program in `code`, for example `return 1 + 1`"));
        }
        if self.program.len() > PROGRAM_BYTES_MAX {
            return Err(wrong(format!(
                "program of {} bytes, at most {PROGRAM_BYTES_MAX} are allowed",
                self.program.len()
            ))
            .with_hint("pass data in `input` instead of writing it into the program"));
        }
        if self.input.len() > INPUT_BYTES_MAX {
            return Err(wrong(format!(
                "input of {} bytes, at most {INPUT_BYTES_MAX} are allowed",
                self.input.len()
            )));
        }
        match live_catalog.ambiguous_pattern(&self.scope) {
            Some((pattern, tools)) => Err(ambiguous_pattern(pattern, &tools)),
            None => Ok(()),
        }
    }

    /// Limits of the run, and a warning when the time is not that asked for.
    pub(super) fn limits(
        &self,
        wall_ms: u64,
        wall_ms_max: u64,
        cpu_ms: u64,
    ) -> (ExecutionLimits, Option<String>) {
        let asked = self.timeout_ms.unwrap_or(wall_ms);
        let most = wall_ms_max.clamp(1, WALL_MS_MAX);
        let wall_ms = asked.clamp(1, most);
        let warning = (wall_ms != asked)
            .then(|| format!("timeout_ms {asked} is outside 1 to {most}; used {wall_ms}"));
        let limits = ExecutionLimits {
            wall_ms,
            cpu_ms,
            ..ExecutionLimits::default()
        };
        (limits, warning)
    }

    /// Everything the guest starts from. With the journal it determines the run.
    pub(super) fn start(
        &self,
        listings: &Listings,
        limits: ExecutionLimits,
        mode: Mode,
    ) -> Result<ProgramStart, ProgramError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            ProgramError::new(
                ErrorKind::Gateway,
                format!("the system gave no random seed: {error}"),
            )
            .with_hint("check that /dev/urandom is readable, then run the program again")
        })?;
        Ok(ProgramStart {
            language: self.language,
            program: self.program.clone(),
            input: self.input.clone(),
            servers: listings.start_json(&self.scope).to_string(),
            seed,
            now_us: now_us(),
            limits,
            mode,
            scope: self.scope.patterns().map(<[String]>::to_vec),
            asks_by_plan: false,
            llm: ModelTerms::default(),
            abi: GUEST_ABI,
            release: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// The error of a pattern that matches several tools where a call by that name would mean one.
fn ambiguous_pattern(pattern: &str, tools: &[ToolId]) -> ProgramError {
    let quoted = |name: &str| format!("`{}`", text::clean_line(name, PATTERN_BYTES_SHOWN));
    let readings = tools.iter().take(READINGS_NAMED_MAX);
    let readings: Vec<String> = readings
        .map(|tool| quoted(&Scope::pattern_of(tool)))
        .collect();
    let message = format!(
        "`tools` has an ambiguous pattern: {} can mean {}",
        quoted(pattern),
        readings.join(" and ")
    );
    ProgramError::new(ErrorKind::Request, message).with_hint(format!(
        "write the one that you mean: {}",
        readings.join(" or ")
    ))
}
