//! Check of the tool calls written in a program, before it runs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::future::FutureExt as _;
use limbeck_catalog::{
    Catalog, CheckOptions, Finding, Findings, Plan, ResultReads, text_input_warnings,
};
use limbeck_domain::{
    HostCall, HostOp, Language, Mode, Site, Sites, SitesError, ToolTarget, Verdict, text,
};
use limbeck_policy::Scope;

use super::Broker;
use super::open_questions::{OpenFindings, Shows};
use super::prepare::{out_of_scope, visible};
use crate::artifacts::select::StopFlag;
use crate::computing::{Computing, ComputingError};
use crate::live_catalog::{FIRST_LIST_TIMEOUT, LiveCatalog};

/// Bytes of the calls of a program that are read at once; a worker may send megabytes.
const PARSED_AT_ONCE_BYTES_MAX: usize = 16 << 10;
/// Calls of a program that are checked at once, in a fraction of a millisecond; with misspelt names in some milliseconds.
const SITES_AT_ONCE_MAX: usize = 8;
/// Patterns named in a warning.
const PATTERNS_NAMED_MAX: usize = 3;
/// Bytes shown of such a pattern.
const PATTERN_BYTES_SHOWN: usize = 80;

impl Broker {
    /// Whether the program that the worker's `sites` were read from may start; journalled.
    ///
    /// A check that cannot be made lets the program run: every call is validated again when it is made.
    /// `input` is the JSON text of the program's input.
    pub(crate) async fn check(&self, sites: String, input: &str) -> Verdict {
        let started = Instant::now();
        let judged = AssertUnwindSafe(self.judged(&sites, input));
        let judged = judged.catch_unwind().await;
        let verdict = match judged {
            Ok(verdict) => verdict,
            Err(_) => {
                tracing::error!("checking a program panicked");
                Verdict::default()
            }
        };
        self.journal.check(sites, verdict.clone(), started).await;
        verdict
    }

    async fn judged(&self, sites: &str, input: &str) -> Verdict {
        let check = self.program_check();
        let sites = match check.parsed(sites.to_owned()).await {
            Ok(Ok(sites)) => sites,
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "call sites of a worker are malformed"
                );
                return Verdict::default();
            }
            Err(ComputingError) => return Verdict::default(),
        };
        let sites = Arc::new(sites);
        self.program.note_sites(Arc::clone(&sites));
        let findings = match check.findings(&sites).await {
            Ok(findings) => findings,
            Err(ComputingError) => return Verdict::default(),
        };
        let mut verdict = findings.verdict();
        verdict.warnings.extend(check.warning_of_scope());
        if findings.errors.is_empty() {
            let input = text_input_warnings(&sites.input, input, self.language);
            verdict.warnings.extend(input);
            self.open_questions(&check, &sites, &findings, &verdict)
                .await;
        }
        verdict
    }

    /// Opens the questions again of a program that is continued: the verdict of its check is recorded, and its results answer
    /// them once more. A check that cannot be made leaves them closed.
    pub(crate) async fn check_again(&self, sites: &str, verdict: &Verdict) {
        let check = self.program_check();
        let Ok(Ok(sites)) = check.parsed(sites.to_owned()).await else {
            return;
        };
        let sites = Arc::new(sites);
        let opened = AssertUnwindSafe(async {
            // By the lists that are known: nothing waits for a server.
            if let Ok(findings) = check.judge(&sites).await {
                self.open_questions(&check, &sites, &findings, verdict)
                    .await;
            }
        });
        if opened.catch_unwind().await.is_err() {
            tracing::error!("checking a continued program panicked");
        }
    }

    async fn open_questions(
        &self,
        check: &ProgramCheck<'_>,
        sites: &Arc<Sites>,
        findings: &Findings,
        verdict: &Verdict,
    ) {
        let Ok(reads) = check.result_reads(sites).await else {
            return;
        };
        let lines = |findings: &[Finding]| findings.iter().map(Finding::line).collect();
        let open = OpenFindings {
            said: verdict.warnings.clone(),
            doubts: lines(&findings.doubts),
            of_endless: lines(&findings.of_endless),
        };
        let Ok(written) = check.computed(sites, Catalog::written_calls).await else {
            return;
        };
        self.questions.ask(sites, open, reads, written);
    }

    fn program_check(&self) -> ProgramCheck<'_> {
        ProgramCheck {
            live_catalog: &self.context.live_catalog,
            computing: &self.context.computing,
            principal: &self.principal,
            scope: &self.scope,
            language: self.language,
            mode: Mode::Run,
        }
    }

    /// What a program has to know that completed after `calls`, and returned and printed nothing or not.
    pub(crate) fn answers(&self, calls: u32, shows: Shows) -> Vec<String> {
        let live_catalog = &self.context.live_catalog;
        let resolve = |made: &[ToolTarget]| {
            let catalog = live_catalog.snapshot();
            made.iter()
                .filter_map(|made| catalog.called_tool(made))
                .collect()
        };
        self.questions.answers(calls, shows, resolve)
    }

    /// Notes a call that the program makes.
    pub(crate) fn note_made(&self, call: &HostCall) {
        if call.op == HostOp::Tool {
            self.questions.note_made(&call.head);
        }
    }

    /// What a program has to know that failed.
    pub(crate) fn answers_of_failed(&self) -> Vec<String> {
        self.questions.answers_of_failed()
    }

    /// What a program has to know that was ended by a limit: it may have waited for a part that no result has.
    pub(crate) fn answers_of_endless(&self) -> Vec<String> {
        self.questions.answers_of_endless()
    }
}

/// Check of the tool calls of one program, in the turns of its principal: a program has thousands of calls.
pub(crate) struct ProgramCheck<'a> {
    pub(crate) live_catalog: &'a LiveCatalog,
    pub(crate) computing: &'a Computing,
    pub(crate) principal: &'a str,
    pub(crate) scope: &'a Arc<Scope>,
    pub(crate) language: Language,
    pub(crate) mode: Mode,
}

impl ProgramCheck<'_> {
    /// The calls in the text of a worker.
    pub(crate) async fn parsed(
        &self,
        text: String,
    ) -> Result<Result<Sites, SitesError>, ComputingError> {
        if text.len() <= PARSED_AT_ONCE_BYTES_MAX {
            return Ok(Sites::parse(&text));
        }
        let parsed = move |_: &StopFlag| Sites::parse(&text);
        self.computing.run(self.principal, parsed).await
    }

    /// Errors and warnings about the calls.
    ///
    /// A server that was never listed is listed first, because the program is about to start it. An error that follows from
    /// a cached list is returned only when a fresh list confirms it. Calls to servers that do not answer in time, or cannot
    /// be used, are checked by the cached list; the call itself reports the reason.
    pub(crate) async fn findings(&self, sites: &Arc<Sites>) -> Result<Findings, ComputingError> {
        let live_catalog = self.live_catalog;
        let unlisted = self.computed(sites, Catalog::servers_needed).await?;
        live_catalog
            .first_lists(&unlisted, FIRST_LIST_TIMEOUT)
            .await;
        let findings = self.judge(sites).await?;
        if findings.drawn_from.is_empty() {
            return Ok(findings);
        }
        let cached = &findings.drawn_from;
        live_catalog.refresh_all(cached, FIRST_LIST_TIMEOUT).await;
        self.judge(sites).await
    }

    /// The reads of results that no type promises.
    async fn result_reads(&self, sites: &Arc<Sites>) -> Result<ResultReads, ComputingError> {
        let language = self.language;
        let is_read = |site: &Site| !site.reads.is_empty() || site.listed.is_some();
        if !sites.sites.iter().any(is_read) {
            return Ok(ResultReads::none(language));
        }
        let reads = move |catalog: &Catalog, sites: &Sites| catalog.result_reads(sites, language);
        self.computed(sites, reads).await
    }

    /// The tools that may be called, by the lists that [`ProgramCheck::findings`] refreshed.
    pub(crate) async fn plan(&self, sites: &Arc<Sites>) -> Result<Plan, ComputingError> {
        self.computed(sites, Catalog::plan).await
    }

    /// What `work` finds in the calls and in the tools that the program may call, as they are known when its turn comes.
    async fn computed<T: Send + 'static>(
        &self,
        sites: &Arc<Sites>,
        work: impl FnOnce(&Catalog, &Sites) -> T + Send + 'static,
    ) -> Result<T, ComputingError> {
        // The usual program of a few calls, without the cost of a hand-over between threads.
        if sites.sites.len() <= SITES_AT_ONCE_MAX {
            return Ok(work(
                &visible(&self.live_catalog.snapshot(), self.scope),
                sites,
            ));
        }
        let live_catalog = self.live_catalog.clone();
        let (scope, sites) = (Arc::clone(self.scope), Arc::clone(sites));
        let done = self.computing.run(self.principal, move |_| {
            work(&visible(&live_catalog.snapshot(), &scope), &sites)
        });
        done.await
    }

    /// Warning about patterns of the scope that match no tool, which were probably mistyped.
    fn warning_of_scope(&self) -> Option<String> {
        let idle = self.live_catalog.unmatched_patterns(self.scope);
        let shown = idle.iter().take(PATTERNS_NAMED_MAX);
        let shown =
            shown.map(|pattern| format!("`{}`", text::clean_line(pattern, PATTERN_BYTES_SHOWN)));
        let shown: Vec<String> = shown.collect();
        let more = match idle.len() {
            0 => return None,
            count if count <= PATTERNS_NAMED_MAX => String::new(),
            count => format!(" and {} more", count - PATTERNS_NAMED_MAX),
        };
        Some(format!(
            "`tools` limits this execution, and no tool matches {}{more}; write `server.tool`, or `server.*` for all tools of a server",
            shown.join(", ")
        ))
    }

    async fn judge(&self, sites: &Arc<Sites>) -> Result<Findings, ComputingError> {
        let (scope, language, mode) = (Arc::clone(self.scope), self.language, self.mode);
        let judged = move |catalog: &Catalog, sites: &Sites| {
            let refuses = |target: &ToolTarget| out_of_scope(&scope, target);
            let caller = CheckOptions {
                language,
                mode,
                refuses: &refuses,
            };
            catalog.check(sites, &caller)
        };
        self.computed(sites, judged).await
    }
}
