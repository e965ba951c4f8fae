//! Diagnostics for operators, on standard error.

use tracing_subscriber::EnvFilter;

use crate::cli::LogLevel;

/// Sends what our crates have to say at `level` to standard error, and warnings of others.
pub(crate) fn start(level: LogLevel) {
    let filter = match level {
        LogLevel::Off => "off".to_owned(),
        LogLevel::Error => "error".to_owned(),
        LogLevel::Warn => "error,limbeck=warn".to_owned(),
        LogLevel::Info => "warn,limbeck=info".to_owned(),
        LogLevel::Debug => "warn,limbeck=debug".to_owned(),
        LogLevel::Trace => "debug,limbeck=trace".to_owned(),
    };
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(anstream::stderr)
        .with_target(level >= LogLevel::Debug)
        .init();
}
