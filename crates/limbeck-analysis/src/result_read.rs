//! What a program does with a result: the parts that it reads, and what it takes the whole for.

use limbeck_domain::site::{ANY_ITEM, ANY_MEMBER};
use limbeck_domain::{Decides, SiteComparison, SiteListing, SiteRead};

use crate::bounds::{COMPARED_VALUES_MAX, COMPARISONS_PER_RESULT_MAX};

/// One read of a part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultRead {
    /// Byte offset of the last name of the path.
    pub(crate) at: u32,
    /// Names from the result to the part.
    pub(crate) path: Vec<String>,
    /// Whether the program provides for the part to be absent.
    pub(crate) optional: bool,
    /// Whether no value of the program is empty where it is absent.
    pub(crate) asked: bool,
    /// Number of the alternatives that it is one of; 0 for none.
    pub(crate) either: u32,
    /// Whether the program makes it whenever there is a value of which it is a part.
    pub(crate) certain: bool,
    /// Whether an absent part does what one that says that all is well does.
    pub(crate) absent_is_well: bool,
    /// Whether the program asks what the whole value is.
    pub(crate) form_asked: bool,
    /// What the program decides by the part alone.
    pub(crate) decides: Decides,
}

/// How a program uses a value from outside: a result, or its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueUse {
    pub(crate) reads: Vec<ResultRead>,
    pub(crate) compared: Vec<Comparison>,
    /// Byte offset of the first place that takes the whole value for a list, and whether it is only counted there.
    pub(crate) listed: Option<(u32, bool)>,
    /// Whether the program also takes the whole value for a text.
    pub(crate) as_text: bool,
}

/// Constants with which a part is compared in one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Byte offset of the part that is compared first.
    pub(crate) at: u32,
    pub(crate) path: Vec<String>,
    /// Where the condition ends: comparisons of a part with the same number are one.
    pub(crate) condition: u32,
    pub(crate) values: Vec<String>,
}

impl ValueUse {
    /// Notes a place that takes the whole value for a list. One that takes its items says more than one that counts them.
    pub(crate) fn note_listed(&mut self, at: u32, counted: bool) {
        match self.listed {
            None => self.listed = Some((at, counted)),
            Some((_, true)) if !counted => self.listed = Some((at, counted)),
            Some(_) => {}
        }
    }

    /// Notes that a part is compared with constants.
    pub(crate) fn note_compared(&mut self, comparison: Comparison) {
        let is_same = |before: &Comparison| {
            before.condition == comparison.condition && before.path == comparison.path
        };
        if let Some(before) = self.compared.iter_mut().find(|before| is_same(before)) {
            before.at = before.at.min(comparison.at);
            before.values.extend(comparison.values);
            before.values.truncate(COMPARED_VALUES_MAX);
        } else if self.compared.len() < COMPARISONS_PER_RESULT_MAX {
            self.compared.push(comparison);
        }
    }

    /// The place that takes the value for a list, unless the program takes it for a text elsewhere.
    pub(crate) fn listing(&self, place: impl Fn(u32) -> (u32, u32)) -> Option<SiteListing> {
        let (at, counted) = self.listed.filter(|_| !self.as_text)?;
        let (line, column) = place(at);
        Some(SiteListing {
            line,
            column,
            counted,
        })
    }

    /// The comparisons as the gateway gets them.
    pub(crate) fn comparisons(&self, place: impl Fn(u32) -> (u32, u32)) -> Vec<SiteComparison> {
        let compared = self.compared.iter().map(|comparison| {
            let (line, column) = place(comparison.at);
            SiteComparison {
                line,
                column,
                path: comparison.path.clone(),
                values: comparison.values.clone(),
            }
        });
        compared.collect()
    }

    /// The reads as the gateway gets them.
    pub(crate) fn reads_at(&self, place: impl Fn(u32) -> (u32, u32)) -> Vec<SiteRead> {
        let reads = self.reads.iter();
        reads
            .map(|read| read.clone().at_place(place(read.at)))
            .collect()
    }

    /// Whether nothing is known of any use.
    pub(crate) fn is_unused(&self) -> bool {
        self.reads.is_empty() && self.listed.is_none() && !self.as_text
    }

    /// All places that are shown.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        let reads = self.reads.iter().map(|read| read.at);
        let compared = self.compared.iter().map(|comparison| comparison.at);
        let listed = self.listed.iter().map(|(at, _)| *at);
        reads.chain(compared).chain(listed)
    }
}

impl ResultRead {
    /// The read as the gateway gets it, at a line and column of the model's text.
    pub(crate) fn at_place(self, (line, column): (u32, u32)) -> SiteRead {
        SiteRead {
            line,
            column,
            path: self.path,
            optional: self.optional,
            asked: self.asked,
            either: self.either,
            certain: self.certain && !self.optional,
            absent_is_well: self.absent_is_well,
            form_asked: self.form_asked,
            decides: self.decides,
        }
    }
}

/// Words of failures and of what a program asks for, in names of parts and in their values: such a part is absent where all is well.
const WORDS_OF_FAILURE: [&str; 20] = [
    "aborted",
    "archived",
    "cancelled",
    "canceled",
    "deleted",
    "disabled",
    "err",
    "error",
    "errors",
    "exception",
    "fail",
    "failed",
    "failure",
    "iserror",
    "missing",
    "not_found",
    "notfound",
    "removed",
    "timeout",
    "warning",
];

/// Whether a name or a value says that something is wrong or gone.
pub(crate) fn is_word_of_failure(word: &str) -> bool {
    let folded = word.to_ascii_lowercase();
    WORDS_OF_FAILURE.contains(&folded.as_str())
}

/// Whether a path leads into the items of a list or the members of an object.
pub(crate) fn is_of_items(path: &[String]) -> bool {
    path.iter()
        .any(|name| name == ANY_ITEM || name == ANY_MEMBER)
}

/// A value that a program has in place of another: in one branch of a condition it takes the whole result as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeInstead {
    /// The bytes of the whole condition with its branches, and those of the branch.
    pub(crate) condition: (u32, u32),
    pub(crate) branch: (u32, u32),
}

/// Marks the reads for which the program takes the whole result where they find nothing, as `r.items` in
/// `Array.isArray(r) ? r : r.items`.
pub(crate) fn provide_by_whole(reads: &mut [ResultRead], instead: &[WholeInstead]) {
    let is_in = |at: u32, (start, end): (u32, u32)| (start..end).contains(&at);
    for read in reads {
        let has_whole = instead
            .iter()
            .any(|whole| is_in(read.at, whole.condition) && !is_in(read.at, whole.branch));
        read.optional |= has_whole;
        read.asked |= has_whole;
    }
}

/// Marks the reads of parts that the program provides for elsewhere: one that asks whether a part is there reads it
/// where it is.
pub(crate) fn provide_for_absence(reads: &mut [ResultRead]) {
    let provided = reads.iter().filter(|read| read.optional);
    let provided: Vec<Vec<String>> = provided.map(|read| read.path.clone()).collect();
    for read in reads {
        read.optional |= provided.iter().any(|path| read.path.starts_with(path));
    }
}
