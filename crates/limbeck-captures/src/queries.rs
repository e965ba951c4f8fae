//! Labelled queries over the captured tools, and how well a search answers them.

use std::collections::BTreeSet;

use serde::Deserialize;

static QUERIES: &str = include_str!("../../../tests/catalogues/queries.jsonl");

/// How a query is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Words that stand in the tool's name or description.
    Keyword,
    /// The same, with the product's name.
    Product,
    /// The same, with letters wrong.
    Typo,
    /// What somebody wants, in words that are not the tool's.
    Intent,
    /// The same, of an author who knew neither the search nor the other queries, and first asked when it was finished.
    Unseen,
}

impl Kind {
    /// All kinds, in the order they are reported.
    pub const ALL: [Self; 5] = [
        Self::Keyword,
        Self::Product,
        Self::Typo,
        Self::Intent,
        Self::Unseen,
    ];

    /// The word the data uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Product => "product",
            Self::Typo => "typo",
            Self::Intent => "intent",
            Self::Unseen => "unseen",
        }
    }
}

/// Which half of the queries: weights were found on one and are confirmed on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Looked at while search was tuned.
    Tune,
    /// Not looked at.
    Held,
}

/// One query with every tool that is a right answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Labelled {
    /// Its half.
    pub part: Part,
    /// How it is worded.
    pub kind: Kind,
    /// Its text.
    pub query: String,
    /// Right answers as `server.tool`; any of them will do.
    pub tools: BTreeSet<String>,
}

/// All labelled queries.
///
/// # Panics
///
/// When the data is damaged.
#[must_use]
pub fn queries() -> Vec<Labelled> {
    let lines = QUERIES.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .expect("each line holds one labelled query")
}

/// How well some queries were answered; shares between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Queries counted.
    pub queries: usize,
    /// Share with a right answer first, among the first five, and among the first ten.
    pub recall: [f64; 3],
    /// Mean of one over the rank of the first right answer, nought without one among the first ten.
    pub reciprocal_rank: f64,
}

/// Ranks that [`Figures::recall`] is told at.
pub const RECALL_AT: [usize; 3] = [1, 5, 10];

impl Figures {
    /// Asks `search` for the ten best tools of each query, as `server.tool`.
    pub fn of<'q>(
        queries: impl IntoIterator<Item = &'q Labelled>,
        mut search: impl FnMut(&str) -> Vec<String>,
    ) -> Self {
        let mut figures = Self::default();
        for labelled in queries {
            figures.queries += 1;
            let found = search(&labelled.query);
            let is_right = |tool: &String| labelled.tools.contains(tool);
            let Some(at) = found.iter().take(RECALL_AT[2]).position(is_right) else {
                continue;
            };
            figures.reciprocal_rank += 1.0 / (at + 1) as f64;
            for (recall, within) in figures.recall.iter_mut().zip(RECALL_AT) {
                *recall += f64::from(u8::from(at < within));
            }
        }
        let count = figures.queries.max(1) as f64;
        figures.reciprocal_rank /= count;
        figures.recall = figures.recall.map(|sum| sum / count);
        figures
    }
}
