//! Bounds that crates share, each with the reason for its number. A bound of one crate is beside its code.
//!
//! A bound ends the run, call or frame that crossed it and nothing else. Sizes are bytes of UTF-8.

use serde::{Deserialize, Serialize};

/// Source of a program; models write under 10 KiB.
pub const PROGRAM_BYTES_MAX: usize = 256 << 10;
/// `input` of a program, as JSON text.
pub const INPUT_BYTES_MAX: usize = 8 << 20;
/// Arguments of one tool call, as JSON text.
pub const CALL_ARGS_BYTES_MAX: usize = 4 << 20;
/// [`crate::ToolTarget`] of one call, as JSON text: two names and a word.
pub const CALL_HEAD_BYTES_MAX: usize = 4 << 10;
/// Result of one host call, as JSON text; 10 MB have to work, and escaping may double them.
pub const CALL_RESULT_BYTES_MAX: usize = 24 << 20;
/// Data of a server's error beside its message, as JSON; the protocol defines a handful of members.
pub const ERROR_DATA_BYTES_MAX: usize = 16 << 10;
/// Nesting of any JSON from outside; the default of `serde_json`, which enforces it.
pub const JSON_DEPTH_MAX: usize = 128;
/// One frame between gateway and worker: the largest payload and room for its header.
pub const FRAME_BYTES_MAX: usize = CALL_RESULT_BYTES_MAX + (64 << 10);
/// Value that a program returns, as JSON text.
pub const VALUE_BYTES_MAX: usize = 16 << 20;
/// Tokens of an answer whose request asks for no other number. Claude Code shows an answer of 40,000
/// characters and replaces one of 80,000 by its beginning; Codex cuts at about 12,000 characters.
pub const OUTPUT_TOKENS_DEFAULT: usize = 10_000;
/// Tokens of an answer, at least: what describes four artifacts and sixteen blocks needs some 800.
pub const OUTPUT_TOKENS_MIN: usize = 1_000;
/// Tokens of an answer, at most: about 240 KiB, which Claude Code shows of a tool that says so.
pub const OUTPUT_TOKENS_MAX: usize = 60_000;
/// A whole answer, independent of its tokens.
pub const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Blocks that a program gives the client beside its result.
pub const EMITTED_MAX: usize = 16;
/// Content of those blocks together; clients refuse images above 5 MB.
pub const EMITTED_BYTES_MAX: usize = 8 << 20;
/// Artifacts of one principal; with more, its oldest are removed.
pub const ARTIFACTS_PER_PRINCIPAL_MAX: u32 = 500;
/// Content of the artifacts of one principal: ten of the largest and the small ones.
pub const ARTIFACTS_PER_PRINCIPAL_BYTES_MAX: u64 = 256 << 20;
/// Content of all artifacts in a state file; with more, the oldest of all principals are removed.
pub const ARTIFACTS_BYTES_MAX: u64 = 2 << 30;
/// Time for which an artifact is kept after it was made the last time: a week.
pub const ARTIFACT_KEPT_MS: u64 = 7 * 24 * 3_600_000;
/// Artifacts of one listing.
pub const ARTIFACTS_LISTED_MAX: u32 = 100;
/// Name a program gives an artifact.
pub const ARTIFACT_NAME_BYTES_MAX: usize = 128;
/// Items of an artifact that are given to a program at once, together.
pub const ARTIFACT_PAGE_BYTES: usize = 1 << 20;
/// JSON path into an artifact.
pub const ARTIFACT_PATH_BYTES_MAX: usize = 512;
/// Values in an artifact that a path can be evaluated over: each takes some 72 bytes of memory then.
pub const ARTIFACT_PARTS_MAX: usize = 2_000_000;
/// Printed text kept of one execution, both streams together.
pub const LOG_BYTES_MAX: usize = 64 << 10;
/// Message, stack and name of a program's own exception, each.
pub const ERROR_TEXT_BYTES_MAX: usize = 8 << 10;
/// Warnings of a worker about one program. The source has a handful of ways to be read twice.
pub const WARNINGS_MAX: usize = 32;
/// Calls that a worker names as given up by its program; further ones count as not awaited.
pub const GIVEN_UP_MAX: usize = 64;
/// One warning of a worker.
pub const WARNING_BYTES_MAX: usize = 1 << 10;

/// Host calls of one execution.
pub const CALLS_MAX: u32 = 10_000;
/// Host calls of one execution in flight at the same time: all of them may be.
pub const CALLS_PENDING_MAX: usize = CALLS_MAX as usize;
/// Arguments of all calls of one execution in flight.
pub const CALLS_PENDING_BYTES_MAX: usize = 64 << 20;
/// Names and arguments of all calls of one execution, together: the journal keeps every byte.
pub const CALLS_BYTES_MAX: usize = 256 << 20;
/// Journal of one execution: names and arguments of its calls, their results, and the contents of the artifacts that it
/// reads, each once. Twice the memory of a guest.
pub const JOURNAL_BYTES_MAX: u64 = 512 << 20;
/// Journals of one principal's executions that called no tool; with more, the oldest are removed. Those that called one
/// lose, the oldest first, the results of reads above twice this and all large results above three times. Above
/// four times the principal's programs are refused until the oldest records are a month old.
pub const JOURNALS_PER_PRINCIPAL_BYTES_MAX: u64 = 1 << 30;
/// Journals of all executions that called no tool.
pub const JOURNALS_BYTES_MAX: u64 = 4 << 30;
/// Executions of one principal that are kept and called no tool; those that called one go by their age alone.
pub const EXECUTIONS_KEPT_PER_PRINCIPAL: u64 = 1_000;
/// Time for which an execution is kept: a month.
pub const EXECUTION_KEPT_MS: u64 = 30 * 24 * 3_600_000;
/// Free space of the state's file system below which no program runs: room for what those that run still write.
pub const DISK_FREE_BYTES_MIN: u64 = 256 << 20;
/// Results of one execution that are not delivered to the guest yet, together; with more, its calls
/// wait until some are delivered.
pub const ANSWERS_WAITING_BYTES_MAX: usize = 64 << 20;
/// Turns that a guest may take without a pause: twice the number of its calls.
pub const TURNS_BURST: u32 = 2 * CALLS_MAX;
/// Turns a second after that; only timers can reach this rate.
pub const TURNS_PER_SECOND: u32 = 2_000;
/// Calls one upstream serves at the same time, unless its entry says otherwise.
pub const UPSTREAM_CONCURRENCY: usize = 16;
/// Wall clock of an execution that asks for none.
pub const WALL_MS_DEFAULT: u64 = 60_000;
/// Largest wall clock a request may ask for, as in the gateways that users come from.
pub const WALL_MS_MAX: u64 = 300_000;
/// Processor time of an execution, start-up of its worker included. A program that waits for calls may
/// take all of its wall clock; one that computes for a minute is better given its own tool.
pub const CPU_MS: u64 = 60_000;
/// Time beyond the wall clock for a worker to report its own end before it is killed.
pub const WALL_GRACE_MS: u64 = 250;
/// Memory of a guest: its whole linear memory.
pub const GUEST_MEMORY_BYTES: usize = 256 << 20;
/// Resident memory of a worker beyond its guest's: engine, stacks, parser, frames in flight.
pub const WORKER_OVERHEAD_BYTES: usize = 256 << 20;
/// Executions running at the same time; more wait in a queue.
pub const EXECUTIONS_MAX: usize = 24;
/// Executions of one principal: a third of the places is left to others. Over standard input there is only
/// one principal, and two gateways share nothing.
pub const EXECUTIONS_PER_PRINCIPAL_MAX: usize = 16;
/// Pieces of work that the gateway itself computes at the same time: suggestions of names, searches, listings, checks of
/// programs, large answers. Each takes a thread, beside those that serve.
pub const COMPUTED_MAX: usize = 4;
/// Of these, the pieces of one principal. Further ones wait for its turn.
pub const COMPUTED_PER_PRINCIPAL_MAX: usize = 2;
/// Executions that wait in the queue; one more fails with `busy`. Principals take turns.
pub const EXECUTIONS_QUEUED_MAX: usize = 256;
/// Queued executions of one principal: half of the queue is left to others.
pub const EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX: usize = 128;

/// Result that is checked against the output schema its tool declares: about 2 ms of reading.
pub const CHECKED_RESULT_BYTES_MAX: usize = 256 << 10;
/// Result from which a tool's output is learnt; reading one of this size takes some 50 ms, beside the calls.
pub const LEARNT_RESULT_BYTES_MAX: usize = 8 << 20;
/// Results waiting to be learnt from, together; more are not learnt from.
pub const LEARNING_BYTES_MAX: usize = 32 << 20;
/// A file of recorded results.
pub const RECORDED_FILE_BYTES_MAX: usize = 64 << 20;

/// Call sites of one program that are judged before it runs; a program of 10 KiB has some ten.
pub const SITES_MAX: usize = 500;
/// The call sites of one program, as JSON text. Constants of a program stand in its text, so no more of
/// them than a program has is worth reading.
pub const SITES_BYTES_MAX: usize = PROGRAM_BYTES_MAX;
/// A program without its types, with the places of its script and its warnings. One that is larger is not recorded.
pub const ERASED_BYTES_MAX: usize = 8 * PROGRAM_BYTES_MAX;
/// Findings of one check that are reported; further ones are only counted.
pub const FINDINGS_MAX: usize = 20;

/// Upstream servers of one gateway.
pub const SERVERS_MAX: usize = 512;
/// Tools of one upstream.
pub const TOOLS_PER_SERVER_MAX: usize = 2_000;
/// Pages of one `tools/list`.
pub const LIST_PAGES_MAX: usize = 64;
/// Bytes kept of the definitions of one server's tools together; the largest known list has 580 KB.
pub const TOOL_LIST_BYTES_MAX: usize = 4 << 20;
/// JSON values in those definitions, each of which takes some hundred bytes of memory; the largest known list has
/// 16,000.
pub const TOOL_LIST_VALUES_MAX: usize = 100_000;
/// Name of a tool, in characters; the specification's guidance is 128.
pub const TOOL_NAME_CHARS_MAX: usize = 128;
/// Description of a tool.
pub const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
/// Schemas of a tool, each.
pub const SCHEMA_BYTES_MAX: usize = 256 << 10;
/// One line from an upstream.
pub const UPSTREAM_LINE_BYTES_MAX: usize = CALL_RESULT_BYTES_MAX;
/// Standard error kept of an upstream.
pub const STDERR_RING_BYTES: usize = 64 << 10;

/// Time for an upstream to answer the first request after it was started. Package runners download.
pub const UPSTREAM_START_MS: u64 = 60_000;
/// Time for all pages of `tools/list`.
pub const UPSTREAM_LIST_MS: u64 = 20_000;
/// Time after which a server that is not used is stopped, unless the entry says otherwise. A start takes
/// seconds, and a process of a package runner holds some 100 MB.
pub const UPSTREAM_IDLE_MS: u64 = 600_000;
/// Time for one tool call, unless the entry says otherwise.
pub const UPSTREAM_CALL_MS: u64 = 60_000;

/// A configuration file.
pub const CONFIG_BYTES_MAX: usize = 4 << 20;
/// A key of `store`.
pub const STORE_KEY_BYTES_MAX: usize = 256;
/// A value of `store`, as JSON text.
pub const STORE_VALUE_BYTES_MAX: usize = 1 << 20;
/// Keys of `store` per principal.
pub const STORE_KEYS_MAX: usize = 10_000;
/// Keys and values of `store` of one principal, together; a state of notes and cursors takes a thousandth of it.
pub const STORE_BYTES_MAX: u64 = 64 << 20;
/// Time for which a key of `store` is kept after it was last read or set: a month.
pub const STORE_KEPT_MS: u64 = EXECUTION_KEPT_MS;
/// A search query.
pub const QUERY_BYTES_MAX: usize = 1 << 10;

/// Body of one HTTP request: the largest `input` and a program twice its size, as JSON escapes it.
pub const HTTP_BODY_BYTES_MAX: usize = INPUT_BYTES_MAX + 2 * PROGRAM_BYTES_MAX;
/// One line of a client on standard input: the same message takes the same room over either transport.
pub const STDIO_LINE_BYTES_MAX: usize = HTTP_BODY_BYTES_MAX;
/// Bodies above this are read [`HTTP_LARGE_BODIES_MAX`] at a time; most are a hundredth of it.
pub const HTTP_SMALL_BODY_BYTES: usize = 64 << 10;
/// Large bodies being read at the same time: 136 MiB of memory at most. More wait their turn.
pub const HTTP_LARGE_BODIES_MAX: usize = 16;
/// Line and headers of one HTTP request. A JSON web token with many groups takes 8 KiB.
pub const HTTP_HEAD_BYTES_MAX: usize = 32 << 10;
/// Headers of one HTTP request; browsers and proxies together send about 30.
pub const HTTP_HEADERS_MAX: usize = 64;
/// Time for the head of an HTTP request to arrive. It also ends connections that are kept alive and
/// silent; clients let go of those after 4 (undici) to 90 s and try again when we were first.
pub const HTTP_HEAD_MS: u64 = 20_000;
/// Time for the body of an HTTP request to arrive: the largest, over 1.2 Mbit/s.
pub const HTTP_BODY_MS: u64 = 60_000;
/// Time for an HTTP client to read bytes that are sent to it.
pub const HTTP_WRITE_STALL_MS: u64 = 60_000;
/// Time for a TLS handshake.
pub const HTTP_TLS_MS: u64 = 10_000;
/// HTTP connections at the same time; more wait to be accepted. Half of the 1,024 descriptors that a
/// process has by default.
pub const HTTP_CONNECTIONS_MAX: usize = 512;
/// Requests at the same time on one HTTP/2 connection.
pub const HTTP_STREAMS_MAX: u32 = 64;
/// Requests a client may reset on an HTTP/2 connection before they were served; hyper's own number,
/// from after CVE-2023-44487.
pub const HTTP_RESETS_MAX: usize = 20;
/// HTTP requests of one principal at the same time, open event streams among them: as many executions
/// as it may have, and a stream for each session besides.
pub const HTTP_REQUESTS_PER_PRINCIPAL_MAX: usize = 256;
/// Principals with something open at the same time.
pub const HTTP_PRINCIPALS_MAX: usize = 4_096;
/// Sessions of the older protocol revisions, of all principals: about 50 KiB each.
pub const HTTP_SESSIONS_MAX: usize = 1_024;
/// Sessions of one principal; with more, the least recently used one is ended.
pub const HTTP_SESSIONS_PER_PRINCIPAL_MAX: usize = 64;
/// Time without a message after which a session is ended. A client that was left open in the morning
/// still works in the afternoon: some clients do not take a 404 as the sign to begin again. What
/// forgotten sessions may cost is bounded by their number.
pub const HTTP_SESSION_IDLE_MS: u64 = 8 * 3_600_000;
/// Interval of keep-alive comments on an event stream; proxies close connections after 30 s or more.
pub const HTTP_KEEP_ALIVE_MS: u64 = 15_000;
/// Time for executions to end when the gateway is stopped; orchestrators kill after 30 s.
pub const HTTP_DRAIN_MS: u64 = 25_000;
/// A bearer token, at least: 128 bits in hexadecimal digits.
pub const TOKEN_CHARS_MIN: usize = 32;
/// A bearer token, at most; those of identity providers that list groups take 8 KiB.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Tokens in a token file.
pub const TOKENS_MAX: usize = 1_024;
/// A token file.
pub const TOKEN_FILE_BYTES_MAX: usize = 256 << 10;
/// Name of a token, or subject of a JSON web token: part of a principal, which every record has.
pub const PRINCIPAL_BYTES_MAX: usize = 256;
/// Groups that a token names. Identity providers write at most 200 into one.
pub const GROUPS_PER_TOKEN_MAX: usize = 200;
/// Bytes of the reason that a person gives with a decision: a few sentences, which a program and a model read.
pub const DECISION_REASON_BYTES_MAX: usize = 1 << 10;
/// Time to fetch metadata or keys of a token issuer.
pub const ISSUER_FETCH_MS: u64 = 10_000;
/// Time for which an issuer's keys are used before they are fetched again.
pub const ISSUER_KEYS_FRESH_MS: u64 = 600_000;
/// Time for which an issuer's keys are used while it cannot be reached.
pub const ISSUER_KEYS_STALE_MS: u64 = 3_600_000;
/// Time between two attempts to fetch keys, however many unknown keys clients present.
pub const ISSUER_RETRY_MS: u64 = 30_000;

/// The bounds of one execution; a request may lower them, never raise them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionLimits {
    /// Wall clock in milliseconds, waiting included.
    pub wall_ms: u64,
    /// Processor time in milliseconds; waiting uses none.
    #[serde(default = "cpu_ms_default")]
    pub cpu_ms: u64,
    /// Linear memory of the guest in bytes.
    pub memory_bytes: usize,
    /// Printed bytes kept.
    pub log_bytes: usize,
    /// Bytes of the returned value.
    pub value_bytes: usize,
    /// Host calls in all.
    pub calls: u32,
    /// Host calls waiting at once.
    pub calls_pending: usize,
}

impl Default for ExecutionLimits {
    fn default() -> Self {
        Self {
            wall_ms: WALL_MS_DEFAULT,
            cpu_ms: CPU_MS,
            memory_bytes: GUEST_MEMORY_BYTES,
            log_bytes: LOG_BYTES_MAX,
            value_bytes: VALUE_BYTES_MAX,
            calls: CALLS_MAX,
            calls_pending: CALLS_PENDING_MAX,
        }
    }
}

/// Executions recorded before there was a limit had this one at most: their wall clock's.
fn cpu_ms_default() -> u64 {
    WALL_MS_MAX
}
