//! Labeled queries over the captured tools, and figures of a search that answers them.

use std::collections::BTreeSet;

use serde::Deserialize;

static QUERIES: &str = include_str!("../../../tests/catalogs/queries.jsonl");

/// Wording of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryKind {
    /// Words of the tool's name or description.
    Keyword,
    /// Words of the tool, with the product's name.
    Product,
    /// Words of the tool, misspelled.
    Typo,
    /// The user's intent, in words that are not the tool's.
    Intent,
    /// The user's intent, by an author who knew neither the search nor the other queries; first run when search was
    /// finished.
    Unseen,
}

impl QueryKind {
    /// All kinds, in the order they are reported.
    pub const ALL: [Self; 5] = [
        Self::Keyword,
        Self::Product,
        Self::Typo,
        Self::Intent,
        Self::Unseen,
    ];

    /// The name in the data.
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

/// Half of the queries: weights are tuned on one half and confirmed on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Used for tuning.
    Tune,
    /// Held out.
    Held,
}

/// One query with all correct answers.
#[derive(Clone, Debug, Deserialize)]
pub struct LabeledQuery {
    /// Half it belongs to.
    pub part: Split,
    /// Wording.
    pub kind: QueryKind,
    /// Text.
    pub query: String,
    /// Correct answers as `server.tool`; any of them counts.
    pub tools: BTreeSet<String>,
}

/// All labeled queries.
///
/// # Panics
///
/// When the data is damaged.
#[must_use]
pub fn queries() -> Vec<LabeledQuery> {
    let lines = QUERIES.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .expect("each line holds one labeled query")
}

/// Figures of the answers to some queries; shares between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchFigures {
    /// Number of queries.
    pub queries: usize,
    /// Shares of queries with a correct answer first, among the first five, and among the first ten.
    pub recall: [f64; 3],
    /// Mean reciprocal rank of the first correct answer, 0 without one among the first ten.
    pub reciprocal_rank: f64,
}

/// Ranks of [`SearchFigures::recall`].
pub const RECALL_AT: [usize; 3] = [1, 5, 10];

impl SearchFigures {
    /// Runs `search`, which returns the ten best tools as `server.tool`, for each query.
    pub fn of<'q>(
        queries: impl IntoIterator<Item = &'q LabeledQuery>,
        mut search: impl FnMut(&str) -> Vec<String>,
    ) -> Self {
        let mut figures = Self::default();
        for labeled in queries {
            figures.queries += 1;
            let found = search(&labeled.query);
            let is_right = |tool: &String| labeled.tools.contains(tool);
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
