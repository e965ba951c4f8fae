//! Check of a program's calls before it runs.
//!
//! A program that would fail on its third call after two writes fails before the first. The parser knows little of a
//! call ([`Site`]): names, constants, and whether that is all. An error is reported only for a call that would certainly be
//! rejected, with the text of the rejection, so no working program is stopped. Anything else is a warning. Calls of servers
//! with unknown tools are not checked. A rejection that the program may catch does not stop a run.
//!
//! Start reading at [`Catalog::check`].

mod compared;
mod edits;
mod findings;
pub(crate) mod reads;
pub(crate) mod results;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use limbeck_domain::limits::FINDINGS_MAX;
use limbeck_domain::site::ANY_ITEM;
use limbeck_domain::{
    CallCode, CallError, CallForm, Language, Mode, Repeat, ServerName, Site, SiteRead, Sites,
    ToolTarget,
};

use serde_json::Value;

pub use self::findings::{Edit, Finding, FindingKind, Findings};
use self::reads::{
    AS_IT_IS, alternatives_found, before_repeating, instead_of_raw, is_found_otherwise,
    is_of_raw_result, is_only_asked, is_outcome_of_write, is_slip, missing_part, path,
    takes_blocks, unwrapped,
};
use self::results::{Available, PartLookup};
use self::shared::SharedReads;
use crate::catalog::Catalog;
use crate::names;
use crate::observed::Provenance;
use crate::resolve::{self, ResolveError, Resolved, Suggest};
use crate::tool::Tool;
use crate::validate::PartialArguments;

/// Bytes of a name shown in a message.
const NAME_BYTES_MAX: usize = 80;
/// Pairs of names compared for warnings, which takes some milliseconds.
const COMPARISONS_MAX: usize = 5_000;
/// Most warnings of one check.
const WARNINGS_MAX: usize = 20;

/// Caller of a check: the program's language, the purpose and the permissions.
pub struct CheckOptions<'a> {
    /// Language of the program, used for calls in hints.
    pub language: Language,
    /// Purpose. A check before a run leaves out errors that the program may catch and minor warnings.
    pub mode: Mode,
    /// Returns the error of a name that says a tool which the program may not call, as it is written, `None` for all others.
    /// It is asked about names that resolve to no tool: the catalog has the tools that may be called, and no others.
    pub refuses: &'a dyn Fn(&ToolTarget) -> Option<CallError>,
}

impl Catalog {
    /// Servers that `sites` call and whose tools are unknown, by name.
    ///
    /// List their tools first. [`Catalog::check`] skips the calls of servers that did not answer.
    pub fn servers_needed(&self, sites: &Sites) -> Vec<ServerName> {
        servers_needed(self, sites)
    }

    /// Checks the calls of a program before it runs.
    ///
    /// An error is a call that would certainly be rejected: its tool does not exist or is not allowed, or its constant
    /// arguments are invalid for all values of the others. When all arguments are constants the result is exactly that of
    /// [`Tool::validate`]. Names are resolved as in [`Catalog::resolve`]. At most
    /// [`FINDINGS_MAX`](limbeck_domain::limits::FINDINGS_MAX) errors are listed, by line and column; the rest is counted.
    pub fn check(&self, sites: &Sites, options: &CheckOptions<'_>) -> Findings {
        check(self, sites, options)
    }
}

fn servers_needed(catalog: &Catalog, sites: &Sites) -> Vec<ServerName> {
    let needed: BTreeSet<_> = sites
        .sites
        .iter()
        .flat_map(|site| resolve::unlisted(catalog, &target(site)))
        .collect();
    needed.into_iter().collect()
}

fn check<'a>(catalog: &'a Catalog, sites: &'a Sites, options: &'a CheckOptions<'_>) -> Findings {
    let unread = sites.unread;
    let shared = SharedReads::of(sites);
    let mut sites: Vec<&Site> = sites.sites.iter().collect();
    sites.sort_by_key(|site| (site.line, site.column));
    let mut check = CallSiteCheck {
        catalog,
        options,
        findings: Findings::default(),
        drawn_from: BTreeSet::new(),
        unlisted: BTreeMap::new(),
        unlisted_errors: None,
        shared,
        comparisons: COMPARISONS_MAX,
    };
    for site in sites {
        // The program may catch the errors of a guarded call, so they do not stop a run.
        if site.guarded && options.mode == Mode::Run {
            check.guarded_site(site);
        } else {
            check.site(site);
        }
    }
    if let Some(unread) = unread {
        let message = format!("{} more calls from here on were not read", unread.count);
        let place = (unread.line, unread.column);
        check.warn(Finding::new(place, FindingKind::Unchecked, message));
    }
    check.finish()
}

/// Key under which users of two earlier systems configured their gateway, and the tools that programs called of it from
/// within. The guest answers them itself where no server has the name.
const OWN_SERVER: &str = "code-executor";
const OWN_TOOLS: [&str; 3] = ["search_tools", "get_tool_signature", "list_servers"];

/// Whether a call is one of an earlier gateway to itself.
fn is_self_call(site: &Site) -> bool {
    let tool = match site.server.as_deref() {
        Some(OWN_SERVER) => Some(&*site.tool),
        Some(_) => None,
        None => site
            .tool
            .strip_prefix("mcp__")
            .and_then(|rest| rest.strip_prefix(OWN_SERVER))
            .and_then(|rest| rest.strip_prefix("__")),
    };
    tool.is_some_and(|tool| OWN_TOOLS.contains(&tool))
}

struct CallSiteCheck<'a> {
    catalog: &'a Catalog,
    options: &'a CheckOptions<'a>,
    findings: Findings,
    drawn_from: BTreeSet<ServerName>,
    /// Servers with unknown tools, each with the position of its first call.
    unlisted: BTreeMap<ServerName, (u32, u32)>,
    /// Position of the first call whose errors are not listed, and the number of such calls.
    unlisted_errors: Option<(u32, u32, usize)>,
    shared: SharedReads<'a>,
    /// Pairs of names that may still be compared.
    comparisons: usize,
}

impl CallSiteCheck<'_> {
    /// A call of which the program may catch the errors in a run: what it does with a result is checked all the same.
    fn guarded_site(&mut self, site: &Site) {
        if !site.compared.is_empty()
            && let Ok(Resolved { tool, .. }) =
                resolve::resolve(self.catalog, &target(site), Suggest::Nothing)
        {
            self.check_compared(site, &tool);
        }
    }

    fn site(&mut self, site: &Site) {
        // The findings about a guarded call are warnings.
        let has_room = match site.guarded {
            true => self.findings.warnings.len() < WARNINGS_MAX,
            false => self.findings.errors.len() < FINDINGS_MAX,
        };
        let suggest = if has_room {
            Suggest::Nearest
        } else {
            Suggest::Nothing
        };
        let Resolved { tool, .. } = match resolve::resolve(self.catalog, &target(site), suggest) {
            Ok(resolved) => resolved,
            // The first of several tools has the alias that an earlier Python system made of their names.
            Err(error) if self.options.language == Language::Python && error.is_of_aliases() => {
                return;
            }
            Err(error) => return self.unresolved(site, error),
        };
        if has_room {
            self.check_call(site, &tool);
        } else if self.is_wrong(site, &tool) {
            self.count(site);
        }
    }

    fn unresolved(&mut self, site: &Site, error: ResolveError) {
        if self.options.language == Language::Typescript && is_self_call(site) {
            return;
        }
        let target = target(site);
        let unlisted = resolve::unlisted(self.catalog, &target);
        if !unlisted.is_empty() {
            for server in unlisted {
                self.unlisted.entry(server).or_insert(position(site));
            }
            return;
        }
        self.drawn_from.extend(error.server_to_ask().cloned());
        // The tool of an uncertain name may be called.
        let is_visible = matches!(error, ResolveError::UncertainName { .. });
        if let Some(denied) = (self.options.refuses)(&target).filter(|_| !is_visible) {
            let finding = Finding::new(position(site), FindingKind::Denied, denied.message);
            return self.report(site, finding.with_hint(denied.hint));
        }
        let kind = match error.code() {
            CallCode::UnknownTool => FindingKind::UnknownTool,
            CallCode::Denied => FindingKind::Denied,
            _ => FindingKind::UnknownServer,
        };
        let finding = Finding::new(position(site), kind, error.to_string())
            .with_hint(error.hint())
            .with_edit(edits::of_name(&error, site));
        self.report(site, finding);
    }

    fn check_call(&mut self, site: &Site, tool: &Tool) {
        let call = tool.call_expression();
        let finding = |kind, message| Finding::new(position(site), kind, message);
        if site.positional > 0 {
            let follows_object = !site.arguments.is_empty();
            let (message, hint) = too_many(tool, &call, self.options.language, follows_object);
            let finding = finding(FindingKind::Positional, message);
            self.report(site, finding.with_hint(Some(hint)));
        } else {
            self.check_arguments(site, tool);
        }
        if !site.awaited {
            let message =
                format!("the call of `{call}` is not awaited, so its result is not available yet");
            let finding = finding(FindingKind::MissingAwait, message)
                .with_hint(Some(format!("write `await {call}(…)`")))
                .with_edit(Some(Edit::new(call.clone(), format!("await {call}"))));
            self.report(site, finding);
        }
        if site.repeat == Repeat::Endless && tool.effect().may_write() && !tool.seems_to_read() {
            let message =
                format!("`{call}` may write, and is in a loop whose header has no end condition");
            let hint = "bound the loop, for example with a counter".to_owned();
            let finding = finding(FindingKind::EndlessWrite, message).with_hint(Some(hint));
            match self.options.mode {
                // A program that comes to its end has ended its loop.
                Mode::Run if self.findings.of_endless.len() < WARNINGS_MAX => {
                    self.findings.of_endless.push(finding);
                }
                Mode::Run => {}
                _ => self.warn(finding),
            }
        }
        self.check_reads(site, tool);
        self.check_compared(site, tool);
    }

    fn check_arguments(&mut self, site: &Site, tool: &Tool) {
        let arguments = arguments(site);
        let check = tool.check();
        if let Some(refusal) = check.refuses(tool.definition(), &arguments, self.options.language) {
            self.drawn_from.insert(tool.id().server.clone());
            let message = format!("{}: {}", tool.call_expression(), refusal.message);
            let finding = Finding::new(position(site), FindingKind::Arguments, message)
                .with_hint(refusal.hint)
                .with_edit(edits::of_arguments(tool, site));
            return self.report(site, finding);
        }
        if self.options.mode == Mode::Run {
            // The call itself warns of names that the tool does not declare.
            return;
        }
        let odd = check.odd_names(&arguments, &mut self.comparisons);
        for (written, meant) in odd {
            let call = tool.call_expression();
            let written = shown(written);
            let message = match meant {
                Some(meant) => format!(
                    "`{call}` declares no argument `{written}`; did you mean `{}`?",
                    shown(meant)
                ),
                None => format!("`{call}` declares no argument `{written}`"),
            };
            let edit = meant.map(|meant| Edit::new(written, shown(meant)));
            let finding = Finding::new(position(site), FindingKind::Arguments, message);
            self.warn(finding.with_edit(edit));
        }
    }

    fn check_reads(&mut self, site: &Site, tool: &Tool) {
        let Some(shape) = tool.output_shape() else {
            // In a run the results themselves say what they have.
            if self.options.mode == Mode::Run {
                return;
            }
            let takes_blocks = takes_blocks(site);
            let is_unknown = |read: &&SiteRead| {
                let is_of_block = read.path.first().is_some_and(|name| name == ANY_ITEM);
                is_of_raw_result(&read.path)
                    && !is_only_asked(read)
                    && !(takes_blocks && is_of_block)
            };
            if let Some(read) = site.reads.iter().find(is_unknown) {
                let name = shown(&path(&read.path));
                let message = format!(
                    "`{name}` of the result of `{}` may be missing: a tool without a declared output gives its text as a string",
                    tool.call_expression()
                );
                let finding = Finding::new((read.line, read.column), FindingKind::Result, message);
                let hint = unwrapped(self.options.language, AS_IT_IS);
                self.warn(finding.with_hint(Some(hint)));
            }
            return;
        };
        // An observed shape may be incomplete, so it is never the reason of an error.
        let is_declared = matches!(shape.provenance, Provenance::Declared);
        let looked_up = site.reads.iter().map(|read| {
            let part = results::part(shape.schema, &read.path);
            (read, part)
        });
        let looked_up: Vec<(&SiteRead, PartLookup)> = looked_up.collect();
        let found = alternatives_found(&looked_up);
        for (read, part) in &looked_up {
            let PartLookup::Missing(missing) = part else {
                continue;
            };
            // A deeper read of the same part was reported at the part itself.
            if missing.depth < read.path.len() {
                continue;
            }
            let is_outcome = is_outcome_of_write(tool, read);
            if is_only_asked(read) && !is_outcome
                || found.contains(&read.either)
                || is_found_otherwise(read, &looked_up)
                || self.shared.may_be_of_another(self.catalog, site, read)
            {
                continue;
            }
            let is_raw = is_of_raw_result(&read.path);
            // In a run the results themselves say what they have.
            if is_raw && !is_declared && self.options.mode == Mode::Run {
                continue;
            }
            let mut finding = missing_part(tool, read, missing);
            if is_raw {
                let is = instead_of_raw(read, missing, finding.hint.as_deref());
                finding.hint = Some(unwrapped(self.options.language, &is));
                finding.edit = None;
            }
            if is_outcome {
                finding.hint = Some(before_repeating(finding.hint.as_deref()));
            }
            let is_near = is_declared
                && match (&finding.edit, &missing.available) {
                    (Some(_), Available::Properties(names, _)) if read.optional => {
                        let asked = &read.path[missing.depth - 1];
                        names.iter().any(|name| is_slip(asked, name))
                    }
                    (edit, _) => edit.is_some(),
                };
            // A program that asks what its result is knows of several forms.
            let is_raw = is_raw && !read.form_asked;
            if missing.surely && is_declared && !read.optional {
                self.report(site, finding);
            } else if self.options.mode != Mode::Run || is_raw || is_near || is_outcome {
                self.warn(finding);
            } else if self.findings.doubts.len() < WARNINGS_MAX
                && !self
                    .findings
                    .doubts
                    .iter()
                    .any(|doubt| doubt.says(&finding))
            {
                self.findings.doubts.push(finding);
            }
            if is_raw {
                // The rest of `content[0].text` says the same.
                break;
            }
        }
    }

    /// Whether the call has an error, without the cost of composing its message.
    fn is_wrong(&self, site: &Site, tool: &Tool) -> bool {
        !site.guarded
            && (site.positional > 0 || !site.awaited || tool.check().is_refused(&arguments(site)))
    }

    fn report(&mut self, site: &Site, finding: Finding) {
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
        let (_, _, count) = self
            .unlisted_errors
            .get_or_insert((site.line, site.column, 0));
        *count += 1;
    }

    fn warn(&mut self, warning: Finding) {
        let warnings = &mut self.findings.warnings;
        if warnings.len() < WARNINGS_MAX && !warnings.iter().any(|before| before.says(&warning)) {
            warnings.push(warning);
        }
    }

    fn finish(mut self) -> Findings {
        for (server, position) in std::mem::take(&mut self.unlisted) {
            let server = shown(server.as_str());
            let message =
                format!("calls of server `{server}` were not checked: its tools are not known yet");
            self.warn(Finding::new(position, FindingKind::Unchecked, message));
        }
        self.findings
            .warnings
            .sort_by_key(|finding| (finding.line, finding.column));
        if let Some((line, column, count)) = self.unlisted_errors {
            let message = format!("{count} more calls have errors");
            let finding = Finding::new((line, column), FindingKind::More, message);
            self.findings.errors.push(finding);
        }
        self.findings.drawn_from = self.drawn_from.into_iter().collect();
        self.findings
    }
}

fn position(site: &Site) -> (u32, u32) {
    (site.line, site.column)
}

/// Message and hint for arguments by position. `follows_object` says that they follow an object of named ones.
fn too_many(tool: &Tool, call: &str, language: Language, follows_object: bool) -> (String, String) {
    let schema = &tool.definition().input_schema;
    let required = schema.get("required").and_then(Value::as_array);
    let first = required.and_then(|names| names.first()?.as_str());
    let listed = || {
        schema
            .get("properties")?
            .as_object()?
            .keys()
            .next()
            .map(String::as_str)
    };
    let name = first.or_else(listed).unwrap_or("name");
    match language {
        Language::Typescript if follows_object => (
            format!("{call} takes one object argument and no others"),
            "leave out what follows the first object: a time limit is `timeout_ms` of `execute`"
                .to_owned(),
        ),
        Language::Typescript => {
            let name = names::property_key(&shown(name));
            (
                format!("{call} takes one object argument, such as {{ {name}: value }}"),
                format!("write `{call}({{ {name}: value }})`"),
            )
        }
        Language::Python => (
            format!("{call} takes named arguments, or one dictionary of them"),
            format!("write `{call}({}=value)`", shown(name)),
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
