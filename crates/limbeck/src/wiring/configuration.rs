//! What the configuration says, with everything around the process that decides it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use limbeck_gateway::domain::text::clean_line;
use limbeck_gateway::upstream::StdioSpec;
use limbeck_setup::{
    AcceptedBy, ConfigError, Configuration, Discovery, Level, ProgramMark, ServerEntry, Transport,
    Trust, TrustRecord, TrustRecords, Trusting,
};

use super::state::trust_file;
use crate::commands::Invocation;
use crate::env::own_executable;
use crate::exit::Failure;
use crate::words::quoted;

/// Names the variable that does what `--trust-project` does, where the command line is somebody else's.
const TRUST_EVERYTHING: &str = "LIMBECK_TRUST_PROJECT";
/// Bytes of one warning.
const TOLD_BYTES_MAX: usize = 1 << 10;

/// Reads the configuration and says what a person should know of it.
///
/// # Errors
///
/// A named configuration file that is not usable.
pub(crate) fn configuration(invocation: &Invocation) -> Result<Configuration, Failure> {
    let configuration = read_configuration(invocation)?;
    for note in &configuration.notes {
        match note.level {
            Level::Info => tracing::info!("{note}"),
            Level::Warning | Level::Error => invocation.printer.warning(&note.to_string()),
        }
    }
    for told in replaced_programs(invocation, &configuration) {
        invocation.printer.warning(&told);
    }
    Ok(configuration)
}

/// Servers of repositories whose program is not the one that was there when the user accepted them.
fn replaced_programs(invocation: &Invocation, configuration: &Configuration) -> Vec<String> {
    let records = trust_file(invocation).and_then(|file| file.read().ok());
    let Some(records) = records else {
        return Vec::new();
    };
    let accepted = configuration
        .servers
        .iter()
        .filter(|entry| entry.trust == Trust::Accepted);
    let replaced = accepted.filter_map(|entry| {
        let then = records.get(&entry.origin.file, &entry.name)?.program.as_ref()?;
        let now = program_of(entry);
        let how = match &now {
            Some(now) if now == then => return None,
            Some(now) if now.path != then.path => format!("is {} now", now.path.display()),
            Some(_) => "was changed".to_owned(),
            None => "is gone".to_owned(),
        };
        let told = format!(
            "the program of `{}`, {}, {how} since the server was trusted; if that is right: `limbeck trust {}`",
            entry.name,
            then.path.display(),
            quoted(entry.name.as_str())
        );
        Some(clean_line(&told, TOLD_BYTES_MAX))
    });
    replaced.collect()
}

/// The program that an entry starts, as it is now.
fn program_of(entry: &ServerEntry) -> Option<ProgramMark> {
    let Ok(Transport::Stdio {
        command,
        args,
        env,
        cwd,
    }) = &entry.definition
    else {
        return None;
    };
    let spec = StdioSpec {
        command: command.clone(),
        args: args.clone(),
        env: env.clone(),
        cwd: cwd.clone(),
    };
    ProgramMark::of(spec.program().ok()?)
}

/// Reads the configuration and says nothing.
///
/// # Errors
///
/// A named configuration file that is not usable.
pub(super) fn read_configuration(invocation: &Invocation) -> Result<Configuration, Failure> {
    let records = trusted(invocation)?;
    let trusting = match &records {
        Some(records) => Trusting::Recorded(records),
        None => Trusting::Everything,
    };
    let environment = &invocation.environment;
    let variable = |name: &str| environment.variables.get(name).cloned();
    let self_exe = own_executable().ok();
    let mut configuration = limbeck_setup::load(&Discovery {
        config_files: &invocation.global.config,
        discover: !invocation.global.no_discover,
        cwd: &environment.cwd,
        home: environment.home.as_deref(),
        env: &variable,
        self_exe: self_exe.as_deref(),
        trusting,
    })
    .map_err(|error: ConfigError| {
        let hint = error.hint();
        Failure::usage(error).with_hint(hint)
    })?;
    remember_what_the_client_asked(invocation, &mut configuration);
    Ok(configuration)
}

/// What is recorded as trusted; `None` when everything is for this start. A record that cannot be believed
/// is said and trusts nothing.
fn trusted(invocation: &Invocation) -> Result<Option<TrustRecords>, Failure> {
    let environment = &invocation.environment;
    let everything = match environment.variable(TRUST_EVERYTHING) {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(_) => {
            let error = anyhow!("{TRUST_EVERYTHING} is neither `1` nor `0`");
            return Err(Failure::usage(error).with_hint("unset it, or `limbeck trust SERVER`"));
        }
    };
    if everything || invocation.global.trust_project {
        return Ok(None);
    }
    let records = match trust_file(invocation).map(|file| file.read()) {
        None => TrustRecords::default(),
        Some(Ok(records)) => records,
        Some(Err(error)) => {
            let hint = error.hint();
            let told = anyhow!(error);
            invocation.printer.warning(&format!(
                "{told:#}, so no server of a repository is trusted"
            ));
            invocation.printer.hint(&hint);
            TrustRecords::default()
        }
    };
    Ok(Some(records))
}

/// Binds what the user said in the client, which knows a server by its name, to what the name stands for
/// when it is first seen here. What cannot be recorded waits: a later change would go unnoticed.
fn remember_what_the_client_asked(invocation: &Invocation, configuration: &mut Configuration) {
    let is_new = |entry: &&mut ServerEntry| entry.trust == Trust::AcceptedByClient;
    let mut new: Vec<&mut ServerEntry> = configuration.servers.iter_mut().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    let recorded = trust_file(invocation).is_some_and(|file| {
        let recorded = file.change(|records| {
            for entry in &new {
                if let Some(record) = trust_record(entry, AcceptedBy::Client) {
                    records.accept(record);
                }
            }
        });
        if let Err(error) = &recorded {
            tracing::warn!("{error}");
        }
        recorded.is_ok()
    });
    for entry in &mut new {
        entry.trust = if recorded {
            Trust::Accepted
        } else {
            Trust::Waiting
        };
    }
}

/// What is recorded when an entry of a repository is accepted; nothing for other entries.
pub(crate) fn trust_record(entry: &ServerEntry, by: AcceptedBy) -> Option<TrustRecord> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Some(TrustRecord {
        file: entry.origin.file.clone(),
        server: entry.name.clone(),
        sha256: entry.written.as_ref()?.sha256.clone(),
        by,
        at_us: since.map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        }),
        program: program_of(entry),
    })
}

pub(super) fn looked_in(invocation: &Invocation) -> String {
    let mut places: Vec<String> = Vec::new();
    if !invocation.global.no_discover {
        places.extend(
            [
                "~/.claude.json",
                "./.mcp.json",
                "~/.config/limbeck/config.toml",
                "./limbeck.toml",
            ]
            .map(str::to_owned),
        );
    }
    let given = invocation.global.config.iter();
    places.extend(given.map(|file| file.display().to_string()));
    if places.is_empty() {
        "nothing: `--no-discover` is given and `--config` is not".to_owned()
    } else {
        places.join(", ")
    }
}
