//! Parts of results that a program reads and no type promises, looked up in the results themselves.
//!
//! A tool without an output schema may give anything, so a check before the run knows nothing of `r.itmes`. The first result
//! does: an absent part is `undefined` in TypeScript, and what is computed from it is wrong without an error. Before the run
//! [`Catalog::result_reads`] collects such reads, the gateway then shows each result until every read of its tool was found in
//! one, and a program that has completed is warned of the others.
//!
//! A part that no result of the run has is a warning where the program surely reads it and provides for nothing else, where
//! its name is a part's name in other letters, or where the result is a text whose JSON has the part. Where the program
//! provides for its absence it only explains an empty value. A read as of MCP's own result, and one that asks whether there are
//! more pages where the results say so in another way, are warnings in any case. The same is done for an `input` that was sent
//! as a text.

mod pages;
mod seen;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use limbeck_domain::site::{ANY_ITEM, PARSED};
use limbeck_domain::{Decides, InputUse, Language, Site, SiteListing, SiteRead, Sites, ToolId};

use self::pages::{SeenPages, is_about_pages};
use self::seen::{Absence, Lookup, SeenValue, WantedParts};
use crate::catalog::Catalog;
use crate::check::reads::{
    asks_for_outcome, before_repeating, instead_of_raw, is_of_raw_result, is_only_asked,
    missing_part, path, takes_blocks, unwrapped,
};
use crate::check::{self, Finding, FindingKind, results};
use crate::resolve::{self, Resolved, Suggest};
use crate::tool::Tool;

/// Bytes of a result that is looked at; a larger one is not.
const RESULT_BYTES_MAX: usize = 256 << 10;
/// Bytes of all results of a tool that are looked at.
const TOOL_BYTES_MAX: usize = 1 << 20;
/// Warnings about results in one run.
const WARNINGS_MAX: usize = 8;

/// Reads of the results of all tools of a program.
#[derive(Debug)]
pub struct ResultReads {
    language: Language,
    tools: HashMap<ToolId, ToolReads>,
    /// Whether the program calls a tool that may write.
    writes: bool,
    /// Places of reads of parts that types list, with the tools of these types. A read that calls share may be of any of them.
    listed: HashMap<(u32, u32), HashSet<ToolId>>,
}

/// Reads of the results of one tool.
#[derive(Debug)]
struct ToolReads {
    tool: Arc<Tool>,
    reads: Vec<WatchedRead>,
    listings: Vec<SiteListing>,
    /// The first text that was a JSON list or object.
    json_text: Option<JsonText>,
    bytes_left: usize,
    /// Whether some results were not looked at.
    some_unseen: bool,
    /// Whether the program asks whether there are more pages, and what the results say about that.
    asks_for_pages: bool,
    pages: SeenPages,
}

/// What the text of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonText {
    List,
    Object,
}

/// A read, and what the results that were looked at have in its place.
#[derive(Clone, Debug)]
struct WatchedRead {
    read: SiteRead,
    /// Number of the call site in the program, and whether the program surely makes the call.
    site: usize,
    is_call_certain: bool,
    /// Whether the program also takes the result for a text.
    as_text: bool,
    /// Whether the type of the result lists the part, so that the read is only looked up as an alternative of others.
    is_listed: bool,
    found: bool,
    absent: Option<Absence>,
}

impl Catalog {
    /// The reads of results that no type promises, of all calls of a program. Names are resolved as in [`Catalog::resolve`].
    pub fn result_reads(&self, sites: &Sites, language: Language) -> ResultReads {
        let mut reads = ResultReads::none(language);
        for (number, site) in sites.sites.iter().enumerate() {
            if let Ok(Resolved { tool, .. }) =
                resolve::resolve(self, &check::target(site), Suggest::Nothing)
            {
                reads.writes |= tool.effect().may_write() && !tool.seems_to_read();
                if !site.reads.is_empty() || site.listed.is_some() {
                    reads.watch(&tool, (number, site));
                }
            }
        }
        reads
    }
}

impl ResultReads {
    /// Those of a program that reads nothing of its results.
    pub fn none(language: Language) -> Self {
        Self {
            language,
            tools: HashMap::new(),
            writes: false,
            listed: HashMap::new(),
        }
    }

    /// Whether there is nothing to look up.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Adds the reads of one call site that the type of the result does not list, and their alternatives that it lists.
    fn watch(&mut self, tool: &Arc<Tool>, (number, site): (usize, &Site)) {
        let schema = tool.output_shape().map(|shape| shape.schema);
        let is_listed = |path: &[String]| schema.is_some_and(|schema| results::lists(schema, path));
        // A server that declares a type gives what it says, and a text is parsed.
        let is_declared = tool.definition().output_schema.is_some();
        let listing = site.listed.filter(|_| !is_declared);
        let (listed, mut unlisted): (Vec<&SiteRead>, Vec<&SiteRead>) =
            site.reads.iter().partition(|read| is_listed(&read.path));
        // A read of a raw result against a declared type was named before the run.
        let is_named = |read: &SiteRead| {
            let is_of_block = read.path.first().is_some_and(|name| name == ANY_ITEM);
            is_of_raw_result(&read.path) && (is_declared || is_of_block && takes_blocks(site))
        };
        unlisted.retain(|read| !is_named(read) && !is_of_language(&read.path));
        for read in &listed {
            let tools = self.listed.entry((read.line, read.column)).or_default();
            tools.insert(tool.id().clone());
        }
        if unlisted.is_empty() && listing.is_none() {
            return;
        }
        let groups: HashSet<u32> = unlisted.iter().map(|read| read.either).collect();
        let alternatives = listed
            .into_iter()
            .filter(|read| read.either != 0 && groups.contains(&read.either));
        let alternatives = alternatives.map(|read| (read, true));
        let watched = unlisted.iter().map(|read| (*read, false));
        let of = self.tools.entry(tool.id().clone());
        let of = of.or_insert_with(|| ToolReads::new(tool));
        of.listings.extend(listing);
        of.asks_for_pages |= unlisted.iter().any(|read| is_about_pages(&read.path));
        of.reads.extend(
            watched
                .chain(alternatives)
                .map(|(read, is_listed)| WatchedRead {
                    read: read.clone(),
                    site: number,
                    is_call_certain: site.certain,
                    as_text: site.as_text,
                    is_listed,
                    found: false,
                    absent: None,
                }),
        );
    }

    /// Looks at the value of a result of `tool`, JSON text.
    pub fn see(&mut self, tool: &ToolId, value: &str) {
        if let Some(of) = self.tools.get_mut(tool)
            && of.is_unsettled()
        {
            of.see(value);
        }
    }

    /// What a program that has completed has to know, at most [`WARNINGS_MAX`] sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut findings: Vec<Finding> = Vec::new();
        for of in self.tools.values() {
            findings.extend(self.not_shared(of, of.warnings(self.language, self.writes)));
        }
        sentences(findings)
    }

    /// Findings about the results of a tool without those of reads that the result of another tool may have.
    fn not_shared<'f>(
        &'f self,
        of: &'f ToolReads,
        findings: Vec<Finding>,
    ) -> impl Iterator<Item = Finding> + 'f {
        let others = || {
            self.tools
                .values()
                .filter(|other| other.tool.id() != of.tool.id())
        };
        findings.into_iter().filter(move |finding| {
            let place = (finding.line, finding.column);
            let mut listing = self.listed.get(&place).into_iter().flatten();
            !listing.any(|tool| tool != of.tool.id())
                && !others().any(|other| other.may_have(place))
        })
    }

    /// What a program has to know that failed: it may have taken a result for one as MCP's own clients see it.
    pub fn raw_reads(&self) -> Vec<String> {
        let mut findings: Vec<Finding> = Vec::new();
        for of in self.tools.values() {
            let absent = of.absent();
            for (watched, absence) in absent {
                let read = &watched.read;
                if of.is_taken_for_raw(read) && !absence.is_in_json {
                    findings.push(of.raw(read, absence, self.language));
                } else if absence.is_in_json && !watched.as_text && !is_only_asked(read) {
                    findings.push(of.in_text(read, self.language));
                }
            }
        }
        sentences(findings)
    }

    /// Warnings, and what explains a program that did not come to its end: it may wait for a part that no result has.
    pub fn all(&self) -> Vec<String> {
        let tools = self.tools.values();
        let mut findings: Vec<Finding> = tools
            .flat_map(|of| self.not_shared(of, of.doubts()))
            .collect();
        for of in self.tools.values() {
            findings.extend(self.not_shared(of, of.warnings(self.language, self.writes)));
        }
        sentences(findings)
    }

    /// What explains a value that is empty, beside the warnings. The Python guest explains such a value of a result itself, and not
    /// one of what the program parsed.
    pub fn doubts(&self) -> Vec<String> {
        let tools = self.tools.values();
        let doubts = tools.flat_map(|of| {
            let mut doubts = of.doubts();
            if self.language == Language::Python {
                let is_parsed = |read: &SiteRead| read.path.iter().any(|name| name == PARSED);
                let mut parsed = HashSet::new();
                for watched in of.reads.iter().filter(|watched| is_parsed(&watched.read)) {
                    parsed.insert((watched.read.line, watched.read.column));
                }
                doubts.retain(|doubt| parsed.contains(&(doubt.line, doubt.column)));
            }
            self.not_shared(of, doubts)
        });
        sentences(doubts.collect())
    }
}

/// What a program has to know that takes its input for an object or a list, where `input` is a text that holds one.
pub fn text_input_warnings(used: &InputUse, input: &str, language: Language) -> Vec<String> {
    if used.as_text
        || used.is_nothing()
        || !input.starts_with('"')
        || input.len() > RESULT_BYTES_MAX
    {
        return Vec::new();
    }
    let wanted = WantedParts::of(used.reads.iter().map(|read| read.path.as_slice()));
    let Some(seen) = SeenValue::of(input, &wanted) else {
        return Vec::new();
    };
    let Some(held) = seen.json_text() else {
        return Vec::new();
    };
    let is_list = matches!(held, SeenValue::List(_));
    let parse = match language {
        Language::Typescript => "`JSON.parse(input)`",
        Language::Python => "`json.loads(input)`",
    };
    let hint =
        format!("{parse} gives what it holds, or send `input` as JSON and not as a text of it");
    let finding = |place, message| {
        Finding::new(place, FindingKind::Result, message).with_hint(Some(hint.clone()))
    };
    let read = used.reads.iter().filter(|read| {
        !is_only_asked(read)
            && matches!(seen.part(&read.path), Lookup::Absent(absence) if absence.is_in_json)
    });
    let mut findings: Vec<Finding> = read
        .map(|read| {
            let message = format!(
                "`input` is a text, of which `{}` has no value",
                path(&read.path)
            );
            finding((read.line, read.column), message)
        })
        .collect();
    let listing = used.listed.filter(|listing| is_list || !listing.counted);
    findings.extend(listing.map(|listing| {
        let message =
            "`input` is a text, and the program takes its characters for items".to_owned();
        finding((listing.line, listing.column), message)
    }));
    sentences(findings)
}

fn sentences(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort_by(|one, other| {
        (one.line, one.column, &one.message).cmp(&(other.line, other.column, &other.message))
    });
    findings.dedup_by(|later, before| before.says(later));
    findings.truncate(WARNINGS_MAX);
    findings.iter().map(Finding::line).collect()
}

impl ToolReads {
    fn new(tool: &Arc<Tool>) -> Self {
        Self {
            tool: Arc::clone(tool),
            reads: Vec::new(),
            listings: Vec::new(),
            json_text: None,
            bytes_left: TOOL_BYTES_MAX,
            some_unseen: false,
            asks_for_pages: false,
            pages: SeenPages::default(),
        }
    }

    /// Whether another result can change what is known.
    fn is_unsettled(&self) -> bool {
        let mut reads = self.reads.iter();
        reads.any(|watched| !watched.found && !watched.is_listed)
            || !self.listings.is_empty() && self.json_text.is_none()
    }

    fn see(&mut self, value: &str) {
        if value.len() > RESULT_BYTES_MAX.min(self.bytes_left) {
            self.some_unseen = true;
            return;
        }
        self.bytes_left -= value.len();
        if self.asks_for_pages {
            self.pages.see(value);
        }
        let wanted = self.reads.iter().filter(|watched| !watched.found);
        let wanted = WantedParts::of(wanted.map(|watched| watched.read.path.as_slice()));
        let Some(value) = SeenValue::of(value, &wanted) else {
            self.some_unseen = true;
            return;
        };
        match value.json_text() {
            Some(SeenValue::List(_)) => self.json_text = self.json_text.or(Some(JsonText::List)),
            Some(SeenValue::Object { .. }) => {
                self.json_text = self.json_text.or(Some(JsonText::Object));
            }
            _ => {}
        }
        for watched in self.reads.iter_mut().filter(|watched| !watched.found) {
            match value.part(&watched.read.path) {
                Lookup::Found => watched.found = true,
                Lookup::Absent(absence) => {
                    watched.absent.get_or_insert(absence);
                }
                Lookup::Unknown => {}
            }
        }
    }

    /// Reads of parts that no result had, each with what there was instead. A deeper read says the same as the one of the
    /// part itself, and so does an alternative of a part that is there.
    fn absent(&self) -> impl Iterator<Item = (&WatchedRead, &Absence)> {
        let unlisted = self.reads.iter().filter(|watched| !watched.is_listed);
        let absent = unlisted.filter(|watched| !watched.found);
        absent.filter_map(|watched| {
            let absence = watched.absent.as_ref()?;
            let is_itself = absence.part.depth == watched.read.path.len();
            (is_itself && !self.has_alternative(watched)).then_some((watched, absence))
        })
    }

    /// Whether the program surely made a read. The results of a tool that it calls in several places may be of others.
    fn is_certain(&self, watched: &WatchedRead) -> bool {
        let is_alone = self.reads.iter().all(|other| other.site == watched.site);
        watched.read.certain && (is_alone || watched.is_call_certain)
    }

    /// Whether a part is there that the program reads in place of this one, or the same read finds it in another way.
    fn has_alternative(&self, watched: &WatchedRead) -> bool {
        let place = |read: &SiteRead| (read.line, read.column);
        self.reads.iter().any(|other| {
            let is_alternative =
                watched.read.either != 0 && other.read.either == watched.read.either;
            let is_same_read = place(&other.read) == place(&watched.read)
                && other.read.path.last() == watched.read.path.last();
            other.found && other.site == watched.site && (is_alternative || is_same_read)
        })
    }

    /// Whether a result may have what is read at a place.
    fn may_have(&self, place: (u32, u32)) -> bool {
        let at = |watched: &&WatchedRead| (watched.read.line, watched.read.column) == place;
        let reads = || self.reads.iter().filter(at);
        reads().any(|watched| watched.found)
            || reads().next().is_some() && reads().all(|watched| watched.absent.is_none())
    }

    fn is_taken_for_raw(&self, read: &SiteRead) -> bool {
        !self.some_unseen
            && is_of_raw_result(&read.path)
            && !is_only_asked(read)
            && !read.form_asked
    }

    /// Whether the program decides something by a part that it surely expects.
    fn is_decided_by(&self, read: &SiteRead, absence: &Absence, writes: bool) -> bool {
        let is_parsed = read.path.iter().any(|name| name == PARSED);
        match read.decides {
            Decides::Nothing => false,
            Decides::Equality => writes || is_parsed,
            // An object that says that nothing was found is small.
            Decides::Negation => writes && absence.is_of_large_object(),
            Decides::Report => self.tool.effect().may_write() && !self.tool.seems_to_read(),
        }
    }

    fn warnings(&self, language: Language, writes: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (watched, absence) in self.absent() {
            let read = &watched.read;
            if absence.is_in_json && !watched.as_text && !is_only_asked(read) {
                findings.push(self.in_text(read, language));
            } else if self.is_taken_for_raw(read) {
                findings.push(self.raw(read, absence, language));
            } else if !self.some_unseen
                && is_about_pages(&read.path)
                && let Some(more) = self.pages.more()
            {
                let mut finding = missing_part(&self.tool, read, &absence.part);
                let hint = finding.hint.take().unwrap_or_default();
                finding.hint = Some(format!("{more}: read all pages; {hint}"));
                findings.push(finding);
            } else if !self.some_unseen && asks_for_outcome(read) {
                findings.push(self.outcome(read, absence));
            } else if !self.some_unseen && !is_only_asked(read) {
                let finding = missing_part(&self.tool, read, &absence.part);
                let is_other_writing = absence.other_writing(&read.path);
                if self.is_certain(watched)
                    || is_other_writing
                    || self.is_decided_by(read, absence, writes)
                {
                    findings.push(finding);
                }
            }
        }
        findings.extend(self.taken_for_list(language));
        findings
    }

    fn doubts(&self) -> Vec<Finding> {
        let absent = self.absent();
        let doubted = absent.filter(|(watched, absence)| {
            !self.some_unseen
                && !is_only_asked(&watched.read)
                && !self.is_certain(watched)
                && !absence.is_in_json
                && !absence.other_writing(&watched.read.path)
                && !asks_for_outcome(&watched.read)
                && !self.is_taken_for_raw(&watched.read)
        });
        doubted
            .map(|(watched, absence)| missing_part(&self.tool, &watched.read, &absence.part))
            .collect()
    }

    fn in_text(&self, read: &SiteRead, language: Language) -> Finding {
        let part = path(&read.path);
        let message = format!(
            "the result of `{}` is a text, of which `{part}` has no value",
            self.tool.call_expression()
        );
        Finding::new((read.line, read.column), FindingKind::Result, message).with_hint(Some(
            parse_hint(language, "the object or list that it holds"),
        ))
    }

    /// The program reads a result as MCP's own clients see it.
    fn raw(&self, read: &SiteRead, absence: &Absence, language: Language) -> Finding {
        let mut finding = missing_part(&self.tool, read, &absence.part);
        let is = instead_of_raw(read, &absence.part, finding.hint.as_deref());
        finding.hint = Some(unwrapped(language, &is));
        finding
    }

    /// The program asks for an outcome that its result does not say.
    fn outcome(&self, read: &SiteRead, absence: &Absence) -> Finding {
        let mut finding = missing_part(&self.tool, read, &absence.part);
        if self.tool.effect().may_write() && !self.tool.seems_to_read() {
            finding.hint = Some(before_repeating(finding.hint.as_deref()));
        } else {
            let throws = "a call that fails throws";
            finding.hint = Some(match finding.hint.take() {
                Some(available) => format!("{throws}; {available}"),
                None => throws.to_owned(),
            });
        }
        finding
    }

    fn taken_for_list(&self, language: Language) -> Option<Finding> {
        let json = self.json_text?;
        let listing = self
            .listings
            .iter()
            .find(|listing| json == JsonText::List || !listing.counted)?;
        let does = match listing.counted {
            true => "counts the characters",
            false => "takes single characters",
        };
        let message = format!(
            "the result of `{}` is a text, and the program {does} of it",
            self.tool.call_expression()
        );
        let holds = match json {
            JsonText::List => "the list that it holds",
            JsonText::Object => "the object that it holds",
        };
        let place = (listing.line, listing.column);
        let finding = Finding::new(place, FindingKind::Result, message);
        Some(finding.with_hint(Some(parse_hint(language, holds))))
    }
}

fn parse_hint(language: Language, what: &str) -> String {
    match language {
        Language::Typescript => format!("`JSON.parse(result)` gives {what}"),
        Language::Python => format!("`json.loads(result)` gives {what}"),
    }
}

/// Whether a path leads to a member that values of the language have.
fn is_of_language(path: &[String]) -> bool {
    path.iter().any(|name| {
        matches!(
            name.as_str(),
            "constructor"
                | "hasOwnProperty"
                | "prototype"
                | "then"
                | "toJSON"
                | "toString"
                | "valueOf"
        ) || name.starts_with("__")
    })
}
