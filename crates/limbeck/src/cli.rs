//! What can be typed. `docs/command-line.md` documents it; help and completions come from here.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use limbeck_gateway::domain::limits::{OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MIN, WALL_MS_MAX};
use limbeck_gateway::domain::{Language, Tier};
use limbeck_gateway::search::{Detail, LIMIT_MAX, QUERIES_MAX};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

/// One MCP server in front of all the others: programs instead of tool calls.
#[derive(Debug, Parser)]
#[command(
    name = "limbeck",
    version,
    max_term_width = 100,
    after_help = "Without a command: serve on standard input and output when it is not a terminal."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Read servers from FILE, any JSON with `mcpServers` or a limbeck.toml; repeat for more files
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Vec<PathBuf>,
    /// Read no configuration but what --config names
    #[arg(long, global = true)]
    pub(crate) no_discover: bool,
    /// Accept every server that files of the working directory add, for this one start
    /// [default: $LIMBECK_TRUST_PROJECT]
    #[arg(long, global = true)]
    pub(crate) trust_project: bool,
    /// Keep journal and cache in DIR [default: $LIMBECK_STATE_DIR, else ~/.local/state/limbeck]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Run programs only in a sandbox of this tier or a stronger one [default: strict on Linux, else wasm]
    #[arg(long, value_name = "TIER", global = true)]
    pub(crate) minimum_tier: Option<TierName>,
    /// Write diagnostics of this level and above to standard error [default: $LIMBECK_LOG, else warn]
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(crate) log: Option<LogLevel>,
}

impl Global {
    /// Whether files were named that `arguments` hold and clap did not keep: of an option that stands
    /// before and after the command, only the latter counts for it.
    pub(crate) fn lost_config(&self, arguments: impl Iterator<Item = OsString>) -> bool {
        let named = arguments
            .take_while(|argument| argument != "--")
            .filter(|argument| {
                let text = argument.as_encoded_bytes();
                text == b"--config" || text.starts_with(b"--config=")
            });
        named.count() > self.config.len()
    }
}

/// Tiers by their names, as results and the journal have them.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TierName {
    /// WebAssembly and every layer the operating system has for it
    Strict,
    /// WebAssembly in a process of its own
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

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What went wrong and was got over.
    Warn,
    /// What was done.
    Info,
    /// How it was done.
    Debug,
    /// Everything.
    Trace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve one MCP client on standard input and output, or many over HTTP
    Serve(ServeArgs),
    /// Run a program and print what it returns
    Run(RunArgs),
    /// Find tools
    Search(SearchArgs),
    /// List servers, or the tools of one
    Tools(ToolsArgs),
    /// Write types of every tool, for editors and type checkers
    Types(TypesArgs),
    /// Call one tool
    Call(CallArgs),
    /// Learn what results of tools look like from recorded ones
    Learn(LearnArgs),
    /// Show servers that a repository adds, and accept them
    Trust(TrustArgs),
    /// Sign in to servers over HTTP, and out again
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// List past executions, or show one with its calls
    Executions(ExecutionsArgs),
    /// Show what executions cost in tokens, and what direct calls would have
    Ledger(LedgerArgs),
    /// Run an execution again from its journal, with no upstream, and compare
    Replay(ReplayArgs),
    /// Show what is configured, what works and how programs are confined
    Doctor(DoctorArgs),
    /// Show what Limbeck does, with a built-in sample server
    Demo,
    /// Print a completion script
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
    /// Serve the sample MCP server of `demo`
    #[command(hide = true)]
    DemoUpstream,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Listen for HTTP on ADDR: `8080` and `:8080` on this machine alone, or `ADDRESS:PORT`
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) over_http: HttpArgs,
}

/// Options of `serve --http`.
#[derive(Debug, Default, Args)]
pub(crate) struct HttpArgs {
    /// Take the bearer tokens in FILE: one token, or lines of `name token`
    /// [default: one made on the first start, in the state directory]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Take JSON web tokens of the issuer at URL, for the audience given by --jwt-audience
    #[arg(long, value_name = "URL", requires_all = ["http", "jwt_audience"])]
    pub(crate) jwt_issuer: Option<String>,
    /// Take only JSON web tokens for the audience AUD, usually the URL of this server
    #[arg(long, value_name = "AUD", requires = "jwt_issuer")]
    pub(crate) jwt_audience: Option<String>,
    /// Answer requests for HOST, `name` or `name:port`, too; repeat for more
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Answer requests from web pages of ORIGIN; repeat for more
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Offer TLS with the certificate chain in FILE
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_key"], conflicts_with = "behind_tls_proxy")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen in clear text on any address, behind a proxy that has TLS
    #[arg(long, requires = "http")]
    pub(crate) behind_tls_proxy: bool,
}

/// An address to listen on; without a host it is reached from this machine alone.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse()
        .map_err(|_| "accepted: `8080`, `:8080`, `127.0.0.1:8080`, `[::1]:8080`".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Program to run; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Pass JSON to the program as `input`
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Print the whole result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop the program after N milliseconds [default: 60000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=WALL_MS_MAX))]
    pub(crate) timeout_ms: Option<u64>,
    /// Fit the answer into N tokens as `execute` does; more becomes artifacts [default: 10000 with --json]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(OUTPUT_TOKENS_MIN as u64..=OUTPUT_TOKENS_MAX as u64))]
    pub(crate) max_output_tokens: Option<u64>,
    /// Allow only tools matching PATTERN (`server.tool`, `*` wildcards); repeat for more
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tools: Vec<String>,
    /// Language of the program [default: py for a FILE that ends in .py, else ts]
    #[arg(long)]
    pub(crate) language: Option<LanguageName>,
}

/// Languages by their short names.
#[derive(Clone, Copy, Debug, ValueEnum)]
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

/// How much of a tool is told, by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DetailName {
    /// The call and one sentence
    Brief,
    /// Input and output types as well
    Signature,
    /// The whole description, and a comment on each property
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
    /// What the tool should do; each argument is a query of its own
    #[arg(value_name = "QUERY", required = true, num_args = 1..=QUERIES_MAX)]
    pub(crate) queries: Vec<String>,
    /// Search only this server
    #[arg(long, value_name = "S")]
    pub(crate) server: Option<String>,
    /// Show at most N tools for each query [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=LIMIT_MAX as i64))]
    pub(crate) limit: Option<u16>,
    /// How much to tell of each tool
    #[arg(long, default_value = "signature")]
    pub(crate) detail: DetailName,
    /// Go on behind the answer that gave this cursor
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    /// Language signatures are written in
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
    /// Only the tools of this server
    pub(crate) server: Option<String>,
    /// Language of the programs that are checked
    #[arg(long, default_value = "ts")]
    pub(crate) language: LanguageName,
    /// Write files into DIR instead of printing; Python needs one
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
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
    /// Print the result as the server sent it
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    /// Recorded results: JSON or lines of JSON, or a directory of such files
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,
    /// Learn of this server alone; it is also that of records that name none
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Accept SERVER as its file defines it now; without any, show those there are
    #[arg(value_name = "SERVER", group = "which")]
    pub(crate) servers: Vec<String>,
    /// Accept all of them
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Show those there are and accept none
    #[arg(long, group = "which")]
    pub(crate) list: bool,
    /// Take back what was accepted instead
    #[arg(long, requires = "which", conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Sign in to a server, in a browser
    Login(LoginArgs),
    /// Revoke and forget the tokens of a server
    Logout {
        /// Server to sign out of
        server: String,
        /// Sign out PRINCIPAL instead of the user who runs the gateway
        #[arg(long, value_name = "PRINCIPAL")]
        principal: Option<String>,
    },
    /// Show where one is signed in, until when and with which scopes
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Server to sign in to
    pub(crate) server: String,
    /// Sign in for PRINCIPAL of `serve --http`, such as `token:NAME`, instead of the user who runs it
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Open no browser; print the address and read the redirect from standard input
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Ask for SCOPE besides what the server asks for; repeat for more
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Give up after N seconds
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Show this server alone
    pub(crate) server: Option<String>,
    /// Show the sign-ins of PRINCIPAL
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExecutionsArgs {
    /// Execution to show; the beginning of an id is enough
    pub(crate) id: Option<String>,
    /// List at most N executions, newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "id")]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the value the program returned, whole
    #[arg(long, requires = "id")]
    pub(crate) value: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Count only what ran since then: `30m`, `24h`, `7d`, `2026-11-01` or `2026-11-01T08:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The beginning of a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long before now.
    Ago(Duration),
    /// In microseconds since 1970.
    At(u64),
}

/// Reads a span that ends now, a date or a time.
fn since(text: &str) -> Result<Since, String> {
    let wrong = || "accepted: `30m`, `24h`, `7d`, `2026-11-01`, `2026-11-01T08:00:00Z`".to_owned();
    let units = [("m", 60), ("h", 3_600), ("d", 86_400)];
    for (unit, seconds) in units {
        let number = text
            .strip_suffix(unit)
            .and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = number {
            return Ok(Since::Ago(Duration::from_secs(u64::from(number) * seconds)));
        }
    }
    let day = Date::parse(text, format_description!("[year]-[month]-[day]"));
    let moment = match day {
        Ok(day) => day.midnight().assume_utc(),
        Err(_) => OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?,
    };
    let micros = moment.unix_timestamp_nanos() / 1_000;
    u64::try_from(micros).map(Since::At).map_err(|_| wrong())
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Execution to replay; the beginning of an id is enough
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show the sandbox alone: every layer, and attempts to break out of a real worker
    #[arg(long)]
    pub(crate) sandbox: bool,
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
    fn a_beginning_is_a_span_a_date_or_a_time() {
        assert_eq!(since("90m"), Ok(Since::Ago(Duration::from_secs(5_400))));
        assert_eq!(since("7d"), Ok(Since::Ago(Duration::from_secs(604_800))));
        assert_eq!(since("1970-01-02"), Ok(Since::At(86_400_000_000)));
        assert_eq!(since("1970-01-01T00:00:01+00:00"), Ok(Since::At(1_000_000)));
        for text in [
            "",
            "d",
            "-1d",
            "7w",
            "2026-13-01",
            "1969-12-31",
            "yesterday",
            "99999999999d",
        ] {
            assert!(since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_on_this_machine_alone() {
        for text in ["8080", ":8080", "127.0.0.1:8080", "localhost:8080"] {
            let address = listen_address(text).unwrap();
            assert_eq!(address, SocketAddr::from(([127, 0, 0, 1], 8080)), "{text}");
        }
        assert!(!listen_address("0.0.0.0:8080").unwrap().ip().is_loopback());
        for text in ["", ":", "host:1", "127.0.0.1", "99999", "8080/mcp", "::1"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }
}
