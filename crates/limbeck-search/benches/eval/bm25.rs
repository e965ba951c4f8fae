//! Baseline: BM25 over each tool's name and description, with the words as they are.

use std::collections::HashMap;

use limbeck_captures::Capture;

/// Saturation and length normalisation, the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// An index without stems, synonyms, fields or tolerance.
pub(crate) struct Bm25 {
    ids: Vec<String>,
    lengths: Vec<f64>,
    /// By word: tools that hold it, and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Bm25 {
    pub(crate) fn new(captures: &[Capture]) -> Self {
        let mut index = Self {
            ids: Vec::new(),
            lengths: Vec::new(),
            postings: HashMap::new(),
        };
        for tool in captures.iter().flat_map(Capture::definitions) {
            let description = tool.description.as_deref().unwrap_or_default();
            let mut counts: HashMap<String, f64> = HashMap::new();
            let words = words(&tool.id.tool).chain(words(description));
            let words = words.inspect(|word| *counts.entry(word.clone()).or_default() += 1.0);
            index.lengths.push(words.count() as f64);
            for (word, times) in counts {
                let postings = index.postings.entry(word).or_default();
                postings.push((index.ids.len(), times));
            }
            index.ids.push(tool.id.to_string());
        }
        index
    }

    /// The ten best tools; ties by name.
    pub(crate) fn search(&self, query: &str) -> Vec<String> {
        let all = self.ids.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / all;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for postings in words(query).filter_map(|word| self.postings.get(&word)) {
            let holding = postings.len() as f64;
            let idf = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
            for (tool, times) in postings {
                let norm = K1 * (1.0 - B + B * self.lengths[*tool] / average);
                *scores.entry(*tool).or_default() += idf * times * (K1 + 1.0) / (times + norm);
            }
        }
        let mut hits: Vec<_> = scores.into_iter().collect();
        hits.sort_by(|(one, a), (other, b)| {
            let by_name = || self.ids[*one].cmp(&self.ids[*other]);
            b.total_cmp(a).then_with(by_name)
        });
        hits.truncate(10);
        hits.into_iter()
            .map(|(tool, _)| self.ids[tool].clone())
            .collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
