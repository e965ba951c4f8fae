//! `limbeck policy export --cedar`: the rules in another language, for tools that prove what they allow.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use limbeck_catalog::Catalog;
use limbeck_policy::Policy;

use super::cedar::{Exported, exported};
use crate::cli::PolicyExportArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;

/// Writes or prints the policies.
pub(super) fn export(
    invocation: &Invocation,
    policy: &Policy,
    catalog: &Catalog,
    arguments: &PolicyExportArgs,
) -> Result<ExitStatus, CommandError> {
    if let Some(fault) = &policy.fault {
        let error = anyhow!("the policy cannot be read: {}", fault.problem);
        return Err(CommandError::usage(error).with_hint("correct this line"));
    }
    let printer = &invocation.printer;
    let Exported {
        policies,
        schema,
        not_expressed,
    } = exported(policy, catalog);
    for what in &not_expressed {
        printer.warning(&format!("not expressed in Cedar: {what}"));
    }
    if arguments.strict && !not_expressed.is_empty() {
        let count = counted(not_expressed.len(), "thing");
        printer.error(&format!(
            "{count} cannot be said in Cedar, so nothing was written"
        ));
        printer.hint(
            "without `--strict` each is written so that it allows less, and named in a comment",
        );
        return Ok(ExitStatus::Failed);
    }
    match &arguments.file {
        None if arguments.schema => printer.data(&schema),
        None => printer.data(&policies),
        Some(file) => {
            let beside = file.with_extension("cedarschema");
            write(file, &policies)?;
            write(&beside, &schema)?;
            printer.note(&format!(
                "wrote {} and the schema {}",
                file.display(),
                beside.display()
            ));
        }
    }
    Ok(ExitStatus::Completed)
}

fn write(file: &Path, text: &str) -> Result<(), CommandError> {
    let written = std::fs::write(file, text);
    let written = written.with_context(|| format!("cannot write {}", file.display()));
    written.map_err(CommandError::usage)
}
