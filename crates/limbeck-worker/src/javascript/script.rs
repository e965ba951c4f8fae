//! The script that the guest evaluates: made of the program, or that of an earlier process.

use limbeck_analysis::python;
use limbeck_analysis::typescript::{self, Positions, PreparedScript};
use limbeck_domain::limits::{ERASED_BYTES_MAX, WARNING_BYTES_MAX, WARNINGS_MAX};
use limbeck_domain::text::cut;
use limbeck_domain::{ErasedProgram, ErrorKind, Language, Mode, ProgramError, ProgramStart};
use limbeck_wire::RecordedProgram;

use crate::fault::LanguageTerms;
use crate::host::Host;
use crate::outcome::{RunEnd, ask, check_calls};

/// Script whose completion value is a function that runs the program.
pub(super) struct Script {
    pub(super) text: String,
    /// Where its places are in the model's text.
    pub(super) positions: Positions,
    /// Names such as `mcp__server__tool` that it uses.
    pub(super) full_names: Vec<String>,
}

impl Script {
    /// Erases the types of a program, reports the script to the gateway, and has the calls of tools checked.
    pub(super) fn erased(
        start: &ProgramStart,
        host: &mut Host,
        terms: LanguageTerms,
        warnings: &mut Vec<String>,
    ) -> Result<Self, RunEnd> {
        let prepared = prepare(&start.program)?;
        let erased = (start.mode == Mode::Run).then(|| record(&prepared));
        warnings.extend(prepared.warnings);
        check_calls(host, prepared.sites, start, terms, warnings)?;
        // After the check: a process that continues a recorded program does not check it again. A larger one is made again then.
        if let Some(erased) = erased.filter(|erased| erased.bytes() <= ERASED_BYTES_MAX) {
            let sent = host.erased(erased);
            sent.map_err(|error| RunEnd::from_guest(error.into(), host, terms))?;
        }
        Ok(Self {
            text: prepared.script,
            positions: prepared.positions,
            full_names: prepared.full_names,
        })
    }

    /// The script that an earlier process made of the program. Nothing of the program is compiled again: a newer compiler
    /// may write another script.
    pub(super) fn recorded(
        recorded: &RecordedProgram,
        host: &mut Host,
        terms: LanguageTerms,
        warnings: &mut Vec<String>,
    ) -> Result<Self, RunEnd> {
        let ErasedProgram {
            script,
            positions,
            full_names,
            warnings: of_the_text,
        } = &recorded.erased;
        warnings.extend_from_slice(of_the_text);
        if let Some(sites) = &recorded.sites {
            ask(host, sites.clone(), terms, warnings)?;
        }
        Ok(Self {
            text: script.clone(),
            // Errors have no place in the model's text without them.
            positions: Positions::from_text(script, positions).unwrap_or_default(),
            full_names: full_names.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

fn prepare(program: &str) -> Result<PreparedScript, RunEnd> {
    match typescript::prepare(program) {
        Ok(prepared) if prepared.is_like_python && python::accepts(program) => {
            let error = ProgramError::new(ErrorKind::Syntax, "the program is Python");
            Err(RunEnd::other_language(error, Language::Python))
        }
        Ok(prepared) => Ok(prepared),
        Err(error) if error.kind == ErrorKind::Syntax && python::accepts(program) => {
            Err(RunEnd::other_language(error, Language::Python))
        }
        Err(error) => Err(error.into()),
    }
}

fn record(prepared: &PreparedScript) -> ErasedProgram {
    let warnings = prepared.warnings.iter().take(WARNINGS_MAX);
    ErasedProgram {
        script: prepared.script.clone(),
        positions: prepared.positions.to_text(),
        full_names: prepared.full_names.join(" "),
        warnings: warnings
            .map(|warning| cut(warning, WARNING_BYTES_MAX).to_owned())
            .collect(),
    }
}
