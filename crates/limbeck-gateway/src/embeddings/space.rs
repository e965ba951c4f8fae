//! Vectors of one endpoint and model, and their similarity.
//!
//! Models differ in their scale: with some, any two texts have a cosine of 0.7. The search has one threshold, below which
//! a tool is no result. So the mean over [`USUAL`] texts is subtracted first (the first step of "All-but-the-Top", Mu and
//! Viswanath, 2018). The texts are fixed, so that similarity depends on tool and query alone and reveals nothing of other
//! tools.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::VectorError;

/// A text's SHA-256.
pub(super) type TextHash = [u8; 32];

/// Texts like those of tools and queries, far from each other in meaning.
pub(super) const USUAL: [&str; 16] = [
    "calendar: create event. Creates an event in a calendar",
    "send an email with an attachment",
    "database: run query. Runs a SQL query and returns its rows",
    "what will the weather be tomorrow",
    "files: read file. Reads a file of the local disk",
    "pay an invoice",
    "git: commit. Records changes in a repository",
    "resize a picture",
    "music: play song. Plays a song in a player",
    "find a flight and book a seat",
    "cluster: scale deployment. Changes the number of replicas",
    "translate a sentence into another language",
    "contacts: get person. Gets the address and the phone number of a person",
    "open a web page and take a screenshot",
    "tickets: list issues. Lists the open issues of a project",
    "measure the heart rate during a run",
];

/// Queries whose vectors are cached. Pages of one answer use the same ones.
const QUERIES_KEPT: usize = 256;

/// Cached vectors of tools and queries.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Length of a vector; unknown before the first.
    dimensions: Option<usize>,
    /// Mean that is subtracted from every vector; unknown before the vectors of [`USUAL`] arrived.
    common: Option<Vec<f32>>,
    tools: HashMap<TextHash, Unit>,
    /// Ordered by last use, the latest at the end.
    queries: VecDeque<(TextHash, Arc<Unit>)>,
}

impl Space {
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    pub(super) fn has_common(&self) -> bool {
        self.common.is_some()
    }

    pub(super) fn has(&self, tool: &TextHash) -> bool {
        self.tools.contains_key(tool)
    }

    pub(super) fn has_all(&self, tools: &[TextHash]) -> bool {
        self.has_common() && tools.iter().all(|tool| self.has(tool))
    }

    /// Takes the vectors of [`USUAL`].
    pub(super) fn set_common(&mut self, vectors: &[Vec<f32>]) -> Result<(), VectorError> {
        let mut common = vec![0.0; vectors.first().map_or(0, Vec::len)];
        for vector in vectors {
            self.check(vector.len())?;
            for (sum, number) in common.iter_mut().zip(of_length_one(vector)) {
                *sum += number / vectors.len() as f32;
            }
        }
        self.common = Some(common);
        // Vectors stored before had no mean subtracted.
        self.queries.clear();
        Ok(())
    }

    pub(super) fn insert(&mut self, tool: TextHash, vector: &[f32]) -> Result<(), VectorError> {
        let unit = self.unit(vector)?;
        self.tools.insert(tool, unit);
        Ok(())
    }

    pub(super) fn insert_query(
        &mut self,
        query: TextHash,
        vector: &[f32],
    ) -> Result<(), VectorError> {
        let unit = self.unit(vector)?;
        self.queries.push_back((query, Arc::new(unit)));
        if self.queries.len() > QUERIES_KEPT {
            self.queries.pop_front();
        }
        Ok(())
    }

    /// The cached vector of a query.
    pub(super) fn query(&mut self, query: &TextHash) -> Option<Arc<Unit>> {
        let place = self.queries.iter().position(|(hash, _)| hash == query)?;
        let found = self.queries.remove(place)?;
        let unit = Arc::clone(&found.1);
        self.queries.push_back(found);
        Some(unit)
    }

    /// Drops the vectors of tools that are not in `texts`.
    pub(super) fn retain(&mut self, texts: &HashSet<TextHash>) {
        self.tools.retain(|text, _| texts.contains(text));
    }

    /// A vector as it is compared. When it is of another length than those before, the endpoint has another model now
    /// and nothing that was known is known any more.
    fn unit(&mut self, vector: &[f32]) -> Result<Unit, VectorError> {
        self.check(vector.len())?;
        let mut vector = of_length_one(vector);
        if let Some(common) = &self.common {
            for (number, common) in vector.iter_mut().zip(common) {
                *number -= common;
            }
        }
        Ok(Unit::of(&vector))
    }

    fn check(&mut self, now: usize) -> Result<(), VectorError> {
        match self.dimensions {
            Some(before) if before != now => {
                *self = Self {
                    dimensions: Some(now),
                    ..Self::default()
                };
                Err(VectorError::Changed { before, now })
            }
            _ => {
                self.dimensions = Some(now);
                Ok(())
            }
        }
    }

    /// How near each of `tools` is to `query`; `None` unless all are known.
    pub(super) fn similarity(&self, tools: &[TextHash], query: &Unit) -> Option<Vec<f32>> {
        let similarity = |tool| Some(self.tools.get(tool)?.similarity(query));
        tools.iter().map(similarity).collect()
    }
}

fn of_length_one(vector: &[f32]) -> Vec<f32> {
    // In the larger type, in which no square of the smaller one is infinite.
    let squares = vector.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    let scaled = vector
        .iter()
        .map(|number| (f64::from(*number) * scale) as f32);
    scaled.collect()
}

/// A vector in eight bits a number: its direction, within a hundredth.
#[derive(Debug)]
pub(super) struct Unit {
    numbers: Box<[i8]>,
    /// What makes the length one; zero for a vector of nothing, which is like no other.
    scale: f32,
}

impl Unit {
    fn of(vector: &[f32]) -> Self {
        let sizes = vector.iter().map(|number| number.abs());
        let largest = sizes.fold(0.0_f32, f32::max);
        let to_byte = if largest > f32::EPSILON {
            f32::from(i8::MAX) / largest
        } else {
            0.0
        };
        // At most `i8::MAX` in size, by the choice of the scale.
        let numbers: Box<[i8]> = vector
            .iter()
            .map(|number| (number * to_byte).round() as i8)
            .collect();
        let length = (dot(&numbers, &numbers) as f32).sqrt();
        Self {
            numbers,
            scale: if length > 0.0 { 1.0 / length } else { 0.0 },
        }
    }

    fn similarity(&self, other: &Self) -> f32 {
        dot(&self.numbers, &other.numbers) as f32 * self.scale * other.scale
    }

    pub(super) fn hash_into(&self, hash: &mut Sha256) {
        for number in &self.numbers {
            hash.update(number.to_le_bytes());
        }
    }
}

/// Products of bytes fit 14 bits, so sums of 4,096 of them fit 32.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    let products = one
        .iter()
        .zip(other)
        .map(|(a, b)| i32::from(*a) * i32::from(*b));
    products.fold(0, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_the_cosine_without_what_all_vectors_have_in_common() {
        let mut space = Space::default();
        // A model in which everything is near everything: one large number that all share.
        let vector = |a: f32, b: f32| [10.0, a, b];
        let usual = [
            vector(1.0, 0.0),
            vector(-1.0, 0.0),
            vector(0.0, 1.0),
            vector(0.0, -1.0),
        ];
        space.set_common(&usual.map(Vec::from)).unwrap();
        space.insert([1; 32], &vector(2.0, 0.0)).unwrap();
        space.insert([2; 32], &vector(0.0, 2.0)).unwrap();
        let query = space.unit(&vector(3.0, 0.3)).unwrap();
        let similarity = space.similarity(&[[1; 32], [2; 32]], &query).unwrap();
        assert!(
            similarity[0] > 0.95 && similarity[1] < 0.3,
            "{similarity:?}"
        );
        assert!(space.similarity(&[[3; 32]], &query).is_none());
    }

    #[test]
    fn vectors_of_nothing_and_of_huge_numbers_are_no_trouble() {
        let mut space = Space::default();
        space.set_common(&[vec![0.0, 0.0]]).unwrap();
        space.insert([1; 32], &[0.0, 0.0]).unwrap();
        space.insert([2; 32], &[f32::MAX, f32::MAX]).unwrap();
        let query = space.unit(&[1.0e-30, 1.0e-30]).unwrap();
        let similarity = space.similarity(&[[1; 32], [2; 32]], &query).unwrap();
        assert!(similarity[0] == 0.0 && (similarity[1] - 1.0).abs() < 0.01);
    }

    #[test]
    fn vectors_of_another_length_start_the_space_anew() {
        let mut space = Space::default();
        space.set_common(&[vec![1.0, 0.0]]).unwrap();
        space.insert([1; 32], &[1.0, 1.0]).unwrap();
        assert!(space.has_all(&[[1; 32]]));
        let changed = space.unit(&[1.0, 0.0, 0.0]).unwrap_err();
        assert!(matches!(
            changed,
            VectorError::Changed { before: 2, now: 3 }
        ));
        assert!(!space.has_all(&[]) && space.dimensions() == Some(3));
    }
}
