//! Judges the calls that stand in a program before it runs.
//!
//! A program that would fail on its third call after two writes fails before the first. What its parser
//! saw of a call ([`Site`]) is little: names, constants, whether that is all. An error is told only of
//! a call that would surely be refused, in the words of the refusal, so nothing that works is held up;
//! what is merely odd is a warning. Calls of servers whose tools are not known are not judged.
//!
//! Start reading at [`judge`].

use std::collections::BTreeSet;

use limbeck_domain::limits::FINDINGS_MAX;
use limbeck_domain::{
    CallError, CallForm, Language, ServerName, Site, Sites, ToolId, ToolTarget, text,
};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::names;
use crate::resolve::{self, ResolveError, Resolved, Suggest};
use crate::tool::Tool;
use crate::validate::PartialArguments;

/// Bytes of a finding's message, and of its hint.
const TEXT_BYTES_MAX: usize = 1 << 10;
/// Bytes of a name that is repeated.
const NAME_BYTES_MAX: usize = 80;
/// Pairs of names that are compared for warnings: some milliseconds.
const COMPARISONS_MAX: usize = 5_000;
/// Warnings that are told.
const WARNINGS_MAX: usize = 10;

/// Who runs the program.
pub struct Caller<'a> {
    /// Language of the program: calls in hints are written in it.
    pub language: Language,
    /// Why the program may not call a tool, as a call of it would be told; `None` when it may.
    pub refuses: &'a dyn Fn(&ToolId) -> Option<CallError>,
}

/// What is wrong with a program's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Calls that would be refused, by line and column. The program should not start.
    pub errors: Vec<Finding>,
    /// What the reader should know although the program may run.
    pub warnings: Vec<String>,
    /// Servers whose lists an error is drawn from: one that is no longer new may be the reason.
    #[serde(skip)]
    pub drawn_from: Vec<ServerName>,
}

/// One call that would be refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// What is wrong, a lowercase fragment of at most 1 KiB.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

pub(crate) fn servers_needed(catalog: &Catalog, sites: &Sites) -> Vec<ServerName> {
    let needed: BTreeSet<_> = sites
        .sites
        .iter()
        .flat_map(|site| resolve::unlisted(catalog, &target(site)))
        .collect();
    needed.into_iter().collect()
}

pub(crate) fn judge(catalog: &Catalog, sites: &Sites, caller: &Caller<'_>) -> Findings {
    let mut sites: Vec<&Site> = sites.sites.iter().collect();
    sites.sort_by_key(|site| (site.line, site.column));
    let mut judge = Judge {
        catalog,
        caller,
        findings: Findings::default(),
        drawn_from: BTreeSet::new(),
        unlisted: BTreeSet::new(),
        untold: None,
        comparisons: COMPARISONS_MAX,
    };
    for site in sites {
        judge.site(site);
    }
    judge.finish()
}

struct Judge<'a> {
    catalog: &'a Catalog,
    caller: &'a Caller<'a>,
    findings: Findings,
    drawn_from: BTreeSet<ServerName>,
    unlisted: BTreeSet<ServerName>,
    /// The first call whose errors are not told, and how many such calls there are.
    untold: Option<(u32, u32, usize)>,
    /// Pairs of names that may still be compared.
    comparisons: usize,
}

impl Judge<'_> {
    fn site(&mut self, site: &Site) {
        let has_room = self.findings.errors.len() < FINDINGS_MAX;
        let suggest = if has_room {
            Suggest::Nearest
        } else {
            Suggest::Nothing
        };
        let Resolved { tool, .. } = match resolve::resolve(self.catalog, &target(site), suggest) {
            Ok(resolved) => resolved,
            Err(error) => return self.unresolved(site, error),
        };
        if has_room {
            self.tell_about(site, &tool);
        } else if self.is_wrong(site, &tool) {
            self.count(site);
        }
    }

    fn unresolved(&mut self, site: &Site, error: ResolveError) {
        let unlisted = resolve::unlisted(self.catalog, &target(site));
        if !unlisted.is_empty() {
            self.unlisted.extend(unlisted);
            return;
        }
        self.drawn_from.extend(error.server_to_ask().cloned());
        let error = error.suggesting(|tool| (self.caller.refuses)(tool).is_none());
        self.tell(site, error.to_string(), error.hint());
    }

    fn tell_about(&mut self, site: &Site, tool: &Tool) {
        let call = tool.call_expression();
        if let Some(denied) = (self.caller.refuses)(tool.id()) {
            return self.tell(site, denied.message, denied.hint);
        }
        if site.positional > 0 {
            let (message, hint) = too_many(&call, self.caller.language);
            self.tell(site, message, Some(hint));
        } else {
            self.tell_about_arguments(site, tool);
        }
        if !site.awaited {
            let message =
                format!("the call of `{call}` is not awaited, so its result is not there yet");
            self.tell(site, message, Some(format!("write `await {call}(…)`")));
        }
    }

    fn tell_about_arguments(&mut self, site: &Site, tool: &Tool) {
        let arguments = arguments(site);
        let check = tool.check();
        if let Some(refusal) = check.refuses(tool, &arguments, self.caller.language) {
            self.drawn_from.insert(tool.id().server.clone());
            let message = format!("{}: {}", tool.call_expression(), refusal.message);
            return self.tell(site, message, refusal.hint);
        }
        for (written, meant) in check.misspelt(&arguments, &mut self.comparisons) {
            self.warn(format!(
                "line {}: `{}` lists no argument `{}`; did you mean `{}`?",
                site.line,
                tool.call_expression(),
                shown(written),
                shown(meant)
            ));
        }
    }

    /// Whether anything would be told about the call, found out without the words.
    fn is_wrong(&self, site: &Site, tool: &Tool) -> bool {
        (self.caller.refuses)(tool.id()).is_some()
            || site.positional > 0
            || !site.awaited
            || tool.check().is_refused(&arguments(site))
    }

    fn tell(&mut self, site: &Site, message: String, hint: Option<String>) {
        if self.findings.errors.len() >= FINDINGS_MAX {
            return self.count(site);
        }
        self.findings.errors.push(Finding {
            line: site.line,
            column: site.column,
            message: shortened(message),
            hint: hint.map(shortened),
        });
    }

    fn count(&mut self, site: &Site) {
        let (_, _, count) = self.untold.get_or_insert((site.line, site.column, 0));
        *count += 1;
    }

    fn warn(&mut self, warning: String) {
        if self.findings.warnings.len() < WARNINGS_MAX {
            self.findings.warnings.push(shortened(warning));
        }
    }

    fn finish(mut self) -> Findings {
        for server in std::mem::take(&mut self.unlisted) {
            let server = shown(server.as_str());
            self.warn(format!(
                "calls of server `{server}` were not checked: its tools are not known yet"
            ));
        }
        if let Some((line, column, count)) = self.untold {
            self.findings.errors.push(Finding {
                line,
                column,
                message: format!("{count} more from here on"),
                hint: None,
            });
        }
        self.findings.drawn_from = self.drawn_from.into_iter().collect();
        self.findings
    }
}

fn too_many(call: &str, language: Language) -> (String, String) {
    match language {
        Language::Typescript => (
            format!("{call} takes one object argument, such as {{ name: value }}"),
            format!("write `{call}({{ name: value }})`"),
        ),
        Language::Python => (
            format!("{call} takes named arguments, or one dictionary of them"),
            format!("write `{call}(name=value)`"),
        ),
    }
}

fn target(site: &Site) -> ToolTarget {
    ToolTarget {
        server: site.server.clone(),
        tool: site.tool.clone(),
        form: CallForm::Value,
    }
}

fn arguments(site: &Site) -> PartialArguments {
    let given = site.arguments.iter();
    let given = given.map(|argument| (argument.name.as_str(), argument.value.as_ref()));
    PartialArguments::new(given, site.complete)
}

fn shown(name: &str) -> String {
    names::comment_line(name, NAME_BYTES_MAX)
}

fn shortened(message: String) -> String {
    if message.len() <= TEXT_BYTES_MAX {
        return message;
    }
    format!("{}…", text::cut(&message, TEXT_BYTES_MAX - '…'.len_utf8()))
}
