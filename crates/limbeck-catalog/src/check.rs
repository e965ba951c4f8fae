//! Judges the calls that stand in a program before it runs.
//!
//! A program that would fail on its third call after two writes fails before the first. What its parser
//! saw of a call ([`Site`]) is little: names, constants, whether that is all. An error is told only of
//! a call that would surely be refused, in the words of the refusal, so nothing that works is held up;
//! what is merely odd is a warning. Calls of servers whose tools are not known are not judged, and a refusal
//! that the program may catch is told only to who asks for a check and not for a run.
//!
//! Start reading at [`judge`].

mod edits;
mod findings;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use limbeck_domain::limits::FINDINGS_MAX;
use limbeck_domain::{
    CallCode, CallError, CallForm, Language, Mode, Repeat, ServerName, Site, SiteRead, Sites,
    ToolId, ToolTarget,
};

pub use self::findings::{Edit, Finding, FindingKind, Findings};
use self::results::{Absent, Instead, Part};
use crate::catalog::Catalog;
use crate::names;
use crate::observed::Provenance;
use crate::resolve::{self, ResolveError, Resolved, Suggest};
use crate::tool::Tool;
use crate::validate::PartialArguments;

/// Bytes of a name that is repeated.
const NAME_BYTES_MAX: usize = 80;
/// Pairs of names that are compared for warnings: some milliseconds.
const COMPARISONS_MAX: usize = 5_000;
/// Warnings that are told.
const WARNINGS_MAX: usize = 20;

/// Who asks about the program.
pub struct Caller<'a> {
    /// Language of the program: calls in hints are written in it.
    pub language: Language,
    /// What for. Before a run, what the program may catch or what need not matter is not told.
    pub mode: Mode,
    /// Why the program may not call a tool, as a call of it would be told; `None` when it may.
    pub refuses: &'a dyn Fn(&ToolId) -> Option<CallError>,
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
        unlisted: BTreeMap::new(),
        untold: None,
        comparisons: COMPARISONS_MAX,
    };
    for site in sites {
        // Nothing of what such a call meets stops a run.
        if !(site.guarded && caller.mode == Mode::Run) {
            judge.site(site);
        }
    }
    judge.finish()
}

struct Judge<'a> {
    catalog: &'a Catalog,
    caller: &'a Caller<'a>,
    findings: Findings,
    drawn_from: BTreeSet<ServerName>,
    /// Servers that are not known, each with its first call.
    unlisted: BTreeMap<ServerName, (u32, u32)>,
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
            for server in unlisted {
                self.unlisted.entry(server).or_insert(place(site));
            }
            return;
        }
        self.drawn_from.extend(error.server_to_ask().cloned());
        let error = error.suggesting(|tool| (self.caller.refuses)(tool).is_none());
        let kind = match error.code() {
            CallCode::UnknownTool => FindingKind::UnknownTool,
            _ => FindingKind::UnknownServer,
        };
        let finding = Finding::new(place(site), kind, error.to_string())
            .with_hint(error.hint())
            .with_edit(edits::of_name(&error, site));
        self.tell(site, finding);
    }

    fn tell_about(&mut self, site: &Site, tool: &Tool) {
        let call = tool.call_expression();
        let finding = |kind, message| Finding::new(place(site), kind, message);
        if let Some(denied) = (self.caller.refuses)(tool.id()) {
            let finding = finding(FindingKind::Denied, denied.message);
            return self.tell(site, finding.with_hint(denied.hint));
        }
        if site.positional > 0 {
            let (message, hint) = too_many(&call, self.caller.language);
            let finding = finding(FindingKind::Positional, message);
            self.tell(site, finding.with_hint(Some(hint)));
        } else {
            self.tell_about_arguments(site, tool);
        }
        if !site.awaited {
            let message =
                format!("the call of `{call}` is not awaited, so its result is not there yet");
            let finding = finding(FindingKind::MissingAwait, message)
                .with_hint(Some(format!("write `await {call}(…)`")))
                .with_edit(Some(Edit::new(call.clone(), format!("await {call}"))));
            self.tell(site, finding);
        }
        if site.repeat == Repeat::Endless && tool.effect().may_write() {
            let message =
                format!("`{call}` may write, and stands in a loop that nothing in its head ends");
            let hint = "bound the loop, for example with a counter".to_owned();
            self.warn(finding(FindingKind::EndlessWrite, message).with_hint(Some(hint)));
        }
        self.tell_about_results(site, tool);
    }

    fn tell_about_arguments(&mut self, site: &Site, tool: &Tool) {
        let arguments = arguments(site);
        let check = tool.check();
        if let Some(refusal) = check.refuses(tool, &arguments, self.caller.language) {
            self.drawn_from.insert(tool.id().server.clone());
            let message = format!("{}: {}", tool.call_expression(), refusal.message);
            let finding = Finding::new(place(site), FindingKind::Arguments, message)
                .with_hint(refusal.hint)
                .with_edit(edits::of_arguments(tool, site));
            return self.tell(site, finding);
        }
        let odd = check.odd_names(&arguments, &mut self.comparisons);
        for (written, meant) in odd {
            let call = tool.call_expression();
            let written = shown(written);
            let message = match meant {
                Some(meant) => format!(
                    "`{call}` lists no argument `{written}`; did you mean `{}`?",
                    shown(meant)
                ),
                None if self.caller.mode == Mode::Run => continue,
                None => format!("`{call}` lists no argument `{written}`"),
            };
            let edit = meant.map(|meant| Edit::new(written, shown(meant)));
            let finding = Finding::new(place(site), FindingKind::Arguments, message);
            self.warn(finding.with_edit(edit));
        }
    }

    fn tell_about_results(&mut self, site: &Site, tool: &Tool) {
        let Some(shape) = tool.output_shape() else {
            return;
        };
        // What was seen so far may not be all there is.
        let is_declared = matches!(shape.provenance, Provenance::Declared);
        for read in &site.reads {
            let Part::Absent(absent) = results::part(shape.schema, &read.path) else {
                continue;
            };
            // A deeper read of the same part says nothing new.
            if absent.depth < read.path.len() {
                continue;
            }
            let finding = absent_part(tool, read, &absent);
            if absent.surely && is_declared && !read.optional {
                self.tell(site, finding);
            } else if self.caller.mode != Mode::Run {
                self.warn(finding);
            }
        }
    }

    /// Whether anything would be told about the call, found out without the words.
    fn is_wrong(&self, site: &Site, tool: &Tool) -> bool {
        !site.guarded
            && ((self.caller.refuses)(tool.id()).is_some()
                || site.positional > 0
                || !site.awaited
                || tool.check().is_refused(&arguments(site)))
    }

    fn tell(&mut self, site: &Site, finding: Finding) {
        if site.guarded {
            let message = format!("{} (the program may catch this)", finding.message);
            return self.warn(Finding { message, ..finding });
        }
        if self.findings.errors.len() >= FINDINGS_MAX {
            return self.count(site);
        }
        self.findings.errors.push(finding);
    }

    fn count(&mut self, site: &Site) {
        let (_, _, count) = self.untold.get_or_insert((site.line, site.column, 0));
        *count += 1;
    }

    fn warn(&mut self, warning: Finding) {
        if self.findings.warnings.len() < WARNINGS_MAX {
            self.findings.warnings.push(warning);
        }
    }

    fn finish(mut self) -> Findings {
        for (server, place) in std::mem::take(&mut self.unlisted) {
            let server = shown(server.as_str());
            let message =
                format!("calls of server `{server}` were not checked: its tools are not known yet");
            self.warn(Finding::new(place, FindingKind::Unchecked, message));
        }
        self.findings
            .warnings
            .sort_by_key(|finding| (finding.line, finding.column));
        if let Some((line, column, count)) = self.untold {
            let message = format!("{count} more from here on");
            let finding = Finding::new((line, column), FindingKind::More, message);
            self.findings.errors.push(finding);
        }
        self.findings.drawn_from = self.drawn_from.into_iter().collect();
        self.findings
    }
}

fn absent_part(tool: &Tool, read: &SiteRead, absent: &Absent) -> Finding {
    let name = shown(&read.path[absent.depth - 1]);
    let of = match path(&read.path[..absent.depth - 1]) {
        parent if parent.is_empty() => "the result".to_owned(),
        parent => format!("`{parent}` of the result"),
    };
    let call = tool.call_expression();
    let (message, hint, edit) = match &absent.instead {
        Instead::Properties(names, count) => {
            let listed: Vec<String> = names
                .iter()
                .map(|name| format!("`{}`", shown(name)))
                .collect();
            let more = count - names.len();
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            let hint = format!("there is {}{more}", listed.join(", "));
            let nearest =
                crate::nearest::nearest(&name, names.iter().map(|name| (name.as_str(), name)));
            let edit = nearest
                .first()
                .map(|meant| Edit::new(name.clone(), shown(meant)));
            (
                format!("{of} of `{call}` has no property `{name}`"),
                (!names.is_empty()).then_some(hint),
                edit,
            )
        }
        Instead::Kind(kind) => (
            format!("{of} of `{call}` is of type {kind} and has no property `{name}`"),
            None,
            None,
        ),
    };
    Finding::new((read.line, read.column), FindingKind::Result, message)
        .with_hint(hint)
        .with_edit(edit)
}

fn path(names: &[String]) -> String {
    let joined = names.join(".").replace(".[]", "[]");
    shown(&joined)
}

fn place(site: &Site) -> (u32, u32) {
    (site.line, site.column)
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

pub(crate) fn target(site: &Site) -> ToolTarget {
    ToolTarget {
        server: site.server.clone(),
        tool: site.tool.clone(),
        form: CallForm::Value,
    }
}

pub(crate) fn arguments(site: &Site) -> PartialArguments {
    let given = site.arguments.iter();
    let given = given.map(|argument| (argument.name.as_str(), argument.value.as_ref()));
    PartialArguments::new(given, site.complete)
}

pub(crate) fn shown(name: &str) -> String {
    names::comment_line(name, NAME_BYTES_MAX)
}
