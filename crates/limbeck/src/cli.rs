//! Arguments of the command line; help and completions are generated from them. `docs/reference/command-line.md` documents
//! them.

mod approvals;
mod audit;
mod auth;
mod health;
mod ledger;
mod own_servers;
mod pins;
mod policy;
mod serve;
mod setup;
mod since;
mod skills;
mod sync;
mod usage_error;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use limbeck_domain::limits::{OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MIN, WALL_MS_MAX};
use limbeck_domain::{Language, Tier};
use limbeck_gateway::search::{Detail, LIMIT_MAX, QUERIES_MAX};

pub(crate) use approvals::{
    ApprovalsArgs, OnAskName, ReconcileArgs, RememberedCommand, ResumeArgs,
};
pub(crate) use audit::{
    AuditCommand, AuditEraseArgs, AuditExportArgs, AuditTailArgs, AuditVerifyArgs,
};
pub(crate) use auth::{AuthCommand, LoginArgs, StatusArgs};
pub(crate) use health::HealthArgs;
pub(crate) use ledger::LedgerArgs;
pub(crate) use own_servers::{AddArgs, ImportArgs, RemoveArgs};
pub(crate) use pins::{
    PinsArgs, PinsCommand, PinsDecideArgs, PinsDiffArgs, PinsLockArgs, PinsVerifyArgs,
};
pub(crate) use policy::{
    PolicyBacktestArgs, PolicyBudgetsArgs, PolicyCheckArgs, PolicyClassesArgs, PolicyCommand,
    PolicyExplainArgs, PolicyExportArgs, PolicySuggestArgs,
};
pub(crate) use serve::{HttpArgs, ServeArgs};
pub(crate) use setup::SetupArgs;
pub(crate) use skills::{SkillSaveArgs, SkillsArgs, SkillsCommand};
pub(crate) use sync::SyncArgs;
pub(crate) use usage_error::usage_error;

/// One MCP server in front of all others: models send programs instead of single tool calls.
#[derive(Debug, Parser)]
#[command(
    name = "limbeck",
    version,
    max_term_width = 100,
    after_help = "Without a command, limbeck serves on standard input and output unless standard input is a terminal."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct GlobalOptions {
    /// Read servers from FILE: JSON with `mcpServers`, or a limbeck.toml; repeat for more files
    #[arg(long, value_name = "FILE", global = true, help_heading = GLOBAL)]
    pub(crate) config: Vec<PathBuf>,
    /// Read only the files named with --config
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_discover: bool,
    /// Trust every server that files of the working directory add, for this start only
    /// [default: $LIMBECK_TRUST_PROJECT]
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) trust_project: bool,
    /// Store journal and cache in DIR [default: $LIMBECK_STATE_DIR, else ~/.local/state/limbeck]
    #[arg(long, value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Run programs only in a sandbox of TIER or stronger [default: strict on Linux, else wasm]
    #[arg(long, value_name = "TIER", global = true, help_heading = GLOBAL)]
    pub(crate) minimum_tier: Option<TierName>,
    /// Write log lines of LEVEL and above to standard error [default: $LIMBECK_LOG, else warn]
    #[arg(long, value_name = "LEVEL", global = true, help_heading = GLOBAL)]
    pub(crate) log: Option<LogLevel>,
}

impl GlobalOptions {
    /// Whether clap dropped a `--config` of `arguments`: of an option given before and after the command it keeps only
    /// the latter.
    pub(crate) fn lost_config(&self, arguments: impl Iterator<Item = OsString>) -> bool {
        let named = arguments
            // Arguments after `--` are not options.
            .take_while(|argument| argument != "--")
            .filter(|argument| {
                let text = argument.as_encoded_bytes();
                text == b"--config" || text.starts_with(b"--config=")
            });
        named.count() > self.config.len()
    }
}

/// Names of sandbox tiers, as in results and the journal.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TierName {
    /// WebAssembly in a process with all required layers of the operating system
    Strict,
    /// WebAssembly in a separate process
    Wasm,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Self {
        match name {
            TierName::Strict => Self::Strict,
            TierName::Wasm => Self::Wasm,
        }
    }
}

/// Log level of standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    /// No diagnostics.
    Off,
    /// Failures.
    Error,
    /// Problems that were handled.
    Warn,
    /// Main actions.
    Info,
    /// Details of actions.
    Debug,
    /// All diagnostics.
    Trace,
}

// In the order in which a new user needs them: help lists them like this. (Not a doc comment, which would be help.)
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a sample program with a built-in server
    Demo,
    /// Move the servers of your clients to Limbeck, or take that back
    Setup(SetupArgs),
    /// Find what changed in the files of clients since setup, and repair Limbeck's entry
    Sync(SyncArgs),
    /// Copy the servers of a client's file into your own configuration
    Import(ImportArgs),
    /// Add a server to your own configuration
    Add(AddArgs),
    /// Remove a server from your own configuration
    #[command(alias = "rm")]
    Remove(RemoveArgs),
    /// Show servers that a repository adds, and trust them
    Trust(TrustArgs),
    /// Show which definitions of tools changed, and accept or reject them
    Pins(PinsArgs),
    /// Check the rules about calls, explain a decision, and decide about recorded calls again
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Sign in to servers over HTTP, and sign out
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// List servers, or the tools of one server
    #[command(aliases = ["list", "ls", "servers"])]
    Tools(ToolsArgs),
    /// Find tools
    Search(SearchArgs),
    /// Call one tool
    Call(CallArgs),
    /// Run a program and print the value it returns
    #[command(aliases = ["exec", "execute"])]
    Run(RunArgs),
    /// Write type declarations of every tool, for editors and type checkers
    Types(TypesArgs),
    /// Write functions that call the tools from programs outside of Limbeck, a file for each server
    SyncWrappers(SyncWrappersArgs),
    /// Learn output types of tools from recorded results
    Learn(LearnArgs),
    /// Serve an MCP client on standard input and output, or clients over HTTP
    Serve(ServeArgs),
    /// Ask whether a gateway runs and serves
    Health(HealthArgs),
    /// List recorded executions, or show one with its calls
    Executions(ExecutionsArgs),
    /// List questions about calls that wait for your decision, or show one
    Approvals(ApprovalsArgs),
    /// Decide about the calls of a paused execution and go on with it
    Resume(ResumeArgs),
    /// Show calls of which it is not known whether they happened, and say what happened
    Reconcile(ReconcileArgs),
    /// Print and check the records of what programs and people did
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Repeat an execution from its journal, without servers, and compare the results
    Replay(ReplayArgs),
    /// List functions and programs that are kept for later programs, show, test or remove them
    #[command(alias = "skill")]
    Skills(SkillsArgs),
    /// Compare the tokens of executions with those of direct calls
    Ledger(LedgerArgs),
    /// Show the configuration, the state of servers and the sandbox of programs
    #[command(alias = "status")]
    Doctor(DoctorArgs),
    /// Print a completion script
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
    /// Write the manual pages, one for each command
    Man {
        /// Existing directory to write them to
        directory: PathBuf,
    },
    /// Run the sample MCP server of `demo`
    #[command(hide = true)]
    DemoUpstream,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Program to run; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Pass JSON to the program as `input`
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Print the whole envelope as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop the program after N milliseconds [default: 60000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=WALL_MS_MAX))]
    pub(crate) timeout_ms: Option<u64>,
    /// Fit the answer into N tokens as `execute` does; the rest becomes artifacts [default: 10000 with --json]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(OUTPUT_TOKENS_MIN as u64..=OUTPUT_TOKENS_MAX as u64))]
    pub(crate) max_output_tokens: Option<u64>,
    /// Allow only tools matching PATTERN (`server.tool`, `*` wildcards); repeat for more
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tools: Vec<String>,
    /// Language of the program [default: py for a FILE that ends in .py, else ts]
    #[arg(long)]
    pub(crate) language: Option<LanguageName>,
    /// Check the calls of the program without running it; exit code 1 when there are errors
    #[arg(long, conflicts_with = "plan")]
    pub(crate) check: bool,
    /// Print the tools that the program may call, as JSON, without running it
    #[arg(long)]
    pub(crate) plan: bool,
    /// What a call does that has to be approved [default: ask on a terminal, else pause]
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["check", "plan"])]
    pub(crate) on_ask: Option<OnAskName>,
}

/// Short names of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageName {
    /// TypeScript and JavaScript
    #[value(aliases = ["typescript", "js", "javascript"])]
    Ts,
    /// Python
    #[value(alias = "python")]
    Py,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::Ts => Self::Typescript,
            LanguageName::Py => Self::Python,
        }
    }
}

/// Names of the levels of detail.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DetailName {
    /// Name and one sentence
    Brief,
    /// Also input and output types
    Signature,
    /// Also the whole description and a comment on each property
    Full,
}

impl From<DetailName> for Detail {
    fn from(name: DetailName) -> Self {
        match name {
            DetailName::Brief => Self::Brief,
            DetailName::Signature => Self::Signature,
            DetailName::Full => Self::Full,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What the tool should do; each argument is one query
    #[arg(value_name = "QUERY", required = true, num_args = 1..=QUERIES_MAX)]
    pub(crate) queries: Vec<String>,
    /// Search only the tools of SERVER
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Show at most N tools for each query [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=LIMIT_MAX as i64))]
    pub(crate) limit: Option<u16>,
    /// Level of detail of each tool
    #[arg(long, default_value = "signature")]
    pub(crate) detail: DetailName,
    /// Continue after the answer that returned this cursor
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    /// Language of the signatures
    #[arg(long, default_value = "ts")]
    pub(crate) language: LanguageName,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Show the tools of this server
    pub(crate) server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    /// Server whose tools are declared [default: all servers]
    pub(crate) server: Option<String>,
    /// Language of the declarations
    #[arg(long, default_value = "ts")]
    pub(crate) language: LanguageName,
    /// Write files into DIR instead of printing; required for Python
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing, and fail when the files in DIR are not those of now
    #[arg(long, requires = "output", conflicts_with = "watch")]
    pub(crate) check: bool,
    /// Write the files again whenever a server changes its tools, until a signal ends it
    #[arg(long, requires = "output")]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncWrappersArgs {
    /// Server whose tools are written [default: all servers]
    pub(crate) server: Option<String>,
    /// Language of the files [default: both]
    #[arg(long)]
    pub(crate) language: Option<LanguageName>,
    /// Directory of the files [default: ~/.code-executor/wrappers]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Leave files as they are that exist
    #[arg(long)]
    pub(crate) missing: bool,
    /// Write files that exist again; this is the default
    #[arg(long, conflicts_with = "missing")]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Server of the tool
    pub(crate) server: String,
    /// Tool to call
    pub(crate) tool: String,
    /// Arguments, a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    /// Print the unchanged result of the server
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    /// Recorded results: JSON, lines of JSON, or a directory of such files
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,
    /// Use only records of server NAME; records without a server belong to it
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Show the definition of SERVER and ask whether to trust it [default: show all servers]
    #[arg(value_name = "SERVER", group = "which")]
    pub(crate) servers: Vec<String>,
    /// Trust all servers of the repository
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Show the servers of the repository
    #[arg(long, group = "which")]
    pub(crate) list: bool,
    /// Trust SERVER without a question if its definition has this sha256, as `limbeck trust` shows it
    #[arg(long, value_name = "SHA256", requires = "servers", conflicts_with_all = ["all", "list", "revoke"])]
    pub(crate) hash: Option<String>,
    /// Revoke the trust instead
    #[arg(long, requires = "which", conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExecutionsArgs {
    /// Execution to show, by its id or the beginning of it
    pub(crate) id: Option<String>,
    /// List at most N executions, newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "id")]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the whole value that the program returned
    #[arg(long, requires = "id")]
    pub(crate) value: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Execution to replay, by its id or the beginning of it
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show only the sandbox: every layer, and attempts to escape from a real worker
    #[arg(long, conflicts_with_all = ["fix", "client"])]
    pub(crate) sandbox: bool,
    /// Do the remedy of every finding CODE, such as `C02`
    #[arg(long, value_name = "CODE", conflicts_with = "json")]
    pub(crate) fix: Option<String>,
    /// Show only findings about CLIENT, such as `cursor`
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_lists_the_commands_in_the_order_of_their_first_use() {
        let help = Cli::command().render_help().to_string();
        let place = |command: &str| help.find(&format!("\n  {command} ")).unwrap();
        let order = [
            "demo", "setup", "import", "tools", "call", "run", "serve", "doctor",
        ];
        assert!(order.map(place).is_sorted(), "{help}");
    }

    #[test]
    fn own_options_come_before_the_heading_of_the_global_ones() {
        let mut cli = Cli::command();
        cli.build();
        let serve = cli.find_subcommand_mut("serve").unwrap();
        let help = serve.render_long_help().to_string();
        let (own, global) = help.split_once(&format!("\n{GLOBAL}:\n")).unwrap();
        for option in ["--http", "--token-file", "--tls-key", "--behind-tls-proxy"] {
            assert!(
                own.contains(option) && !global.contains(option),
                "{option}: {help}"
            );
        }
        for option in ["--config", "--no-discover", "--trust-project", "--log"] {
            assert!(
                !own.contains(option) && global.contains(option),
                "{option}: {help}"
            );
        }
    }
}
