//! Ends of a run without a value, and the steps that the engines share.

use limbeck_domain::{Language, Mode, ProgramError, ProgramStart, Sites};
use limbeck_wire::Fault;

use crate::channel::ChannelError;
use crate::fault::{self, LanguageTerms};
use crate::host::{Host, HostError};

/// Why a program did not return a value.
pub(crate) enum RunEnd {
    /// An error that is reported to the model.
    Fault(Box<Fault>),
    /// The program is not of this language, as far as the parsers can say; `fault` is what is wrong with it here.
    OtherLanguage {
        /// Its error in the language that it was sent as.
        fault: Box<Fault>,
        /// The language that it is written in.
        language: Language,
    },
    /// The channel failed, so the error cannot be reported.
    Channel(ChannelError),
}

impl RunEnd {
    /// Distinguishes a failed channel from an error of the program or the guest.
    pub(crate) fn from_guest(error: wasmtime::Error, host: &Host, terms: LanguageTerms) -> Self {
        match error.downcast::<HostError>() {
            Ok(HostError::Channel(error)) => Self::Channel(error),
            Ok(stop) => fault::from_guest(&stop.into(), host, terms).into(),
            Err(error) => fault::from_guest(&error, host, terms).into(),
        }
    }
}

impl RunEnd {
    /// The end of a program that was sent as another language than it is written in.
    pub(crate) fn other_language(error: ProgramError, language: Language) -> Self {
        Self::OtherLanguage {
            fault: Box::new(error.into()),
            language,
        }
    }
}

impl From<ProgramError> for RunEnd {
    fn from(error: ProgramError) -> Self {
        Fault::from(error).into()
    }
}

impl From<Fault> for RunEnd {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

/// Asks the gateway to check the calls of tools in a program, before its first line runs.
///
/// A gateway that cannot check them sends a verdict that lets the program run: it validates every call again when
/// the program makes it.
///
/// # Errors
///
/// The error of a call that the gateway refuses.
pub(crate) fn check_calls(
    host: &mut Host,
    sites: Sites,
    start: &ProgramStart,
    terms: LanguageTerms,
    warnings: &mut Vec<String>,
) -> Result<(), RunEnd> {
    let must_ask = match start.mode {
        // A person may be asked about the calls.
        Mode::Run if start.asks_by_plan && !sites.sites.is_empty() => true,
        // A program may make a refused call on purpose and catch the error. What it does with a result is checked all the same.
        Mode::Run => {
            !sites.input.is_nothing()
                || sites
                    .sites
                    .iter()
                    .any(|site| !site.guarded || !site.reads.is_empty() || site.listed.is_some())
        }
        Mode::Check | Mode::Plan => true,
    };
    if !must_ask {
        return Ok(());
    }
    ask(host, sites.into_body(), terms, warnings)
}

/// Sends call sites to the gateway, as JSON text, and waits for the verdict.
///
/// # Errors
///
/// The error of a call that the gateway refuses.
pub(crate) fn ask(
    host: &mut Host,
    sites: String,
    terms: LanguageTerms,
    warnings: &mut Vec<String>,
) -> Result<(), RunEnd> {
    let verdict = host.check(sites);
    let verdict = verdict.map_err(|error| RunEnd::from_guest(error.into(), host, terms))?;
    let error = verdict.error();
    warnings.extend(verdict.warnings);
    match error {
        Some(error) => Err(Fault::from(error).into()),
        None => Ok(()),
    }
}

/// Global values of the program, as JSON text. `input` and `servers` are JSON texts already; `mode` is present
/// only when the program is not to run. `full_names` are names such as `mcp__server__tool` that it uses.
pub(crate) fn start_globals(start: &ProgramStart, full_names: &[String]) -> String {
    let or = |text: &str, empty: &'static str| match text {
        "" => empty.to_owned(),
        text => text.to_owned(),
    };
    let limits = serde_json::to_string(&start.limits).expect("limits are plain numbers");
    let mode = match start.mode {
        Mode::Run => String::new(),
        mode => format!(r#","mode":"{}""#, mode.as_str()),
    };
    let full_names = match full_names {
        [] => String::new(),
        names => format!(
            r#","fullNames":{}"#,
            serde_json::to_string(names).expect("a list of names")
        ),
    };
    let llm = match &start.llm {
        llm if llm.enabled => format!(
            r#","llm":{{"rounds":{},"tokens":{}}}"#,
            llm.rounds, llm.tokens
        ),
        _ => String::new(),
    };
    format!(
        r#"{{"input":{},"servers":{},"limits":{limits}{llm}{mode}{full_names}}}"#,
        or(&start.input, "null"),
        or(&start.servers, "[]"),
    )
}
