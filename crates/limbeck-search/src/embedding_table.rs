//! Token embeddings that ship in the binary: vectors of words, without a model and without a network.
//!
//! `embeddings/table.bin` holds one short vector for each piece of the vocabulary of all-MiniLM-L6-v2, made by
//! `embeddings/make.py`: each piece is run through the model alone, all vectors are reduced to their principal
//! components and weighted by the rarity of the piece, then fitted so that the sum over a text's pieces has the direction
//! of the model's vector for the whole text, for some 19,000 sentences; and rounded to eight bits.
//!
//! Layout, all numbers little-endian: `u32` number of pieces, `u32` dimensions, `u32` bytes of all pieces' texts; one `u32`
//! for each piece, the end of its text; the texts, in byte order; one `f32` for each piece, its scale; and one `i8` for
//! each dimension of each piece. A piece inside a word begins with `##`.

use std::cmp::Ordering;

use limbeck_catalog::words::WORD_BYTES_MAX;

static BYTES: &[u8] = include_bytes!("../embeddings/table.bin");
const HEADER_BYTES: usize = 12;
/// Prefix of a piece inside a word.
const INSIDE: &[u8] = b"##";

/// The table. Creating one reads only the header; rows are read from the executable when a word needs them.
#[derive(Clone, Copy)]
pub(crate) struct EmbeddingTable {
    ends: &'static [u8],
    texts: &'static [u8],
    scales: &'static [u8],
    rows: &'static [u8],
    dimensions: usize,
}

impl EmbeddingTable {
    pub(crate) fn new() -> Self {
        let number = |at: usize| number(BYTES, at) as usize;
        let (pieces, dimensions, texts_bytes) = (number(0), number(1), number(2));
        let (ends, rest) = BYTES[HEADER_BYTES..].split_at(4 * pieces);
        let (texts, rest) = rest.split_at(texts_bytes);
        let (scales, rows) = rest.split_at(4 * pieces);
        Self {
            ends,
            texts,
            scales,
            rows,
            dimensions,
        }
    }

    /// Length of each vector.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Whether `word`, in lower case, is one piece.
    pub(crate) fn has_piece(&self, word: &str) -> bool {
        self.piece(word.as_bytes()).is_some()
    }

    /// Adds `weight` times the vector of `word`, in lower case, to `sum`. Returns false when the pieces cannot spell it.
    pub(crate) fn add(&self, word: &str, weight: f32, sum: &mut [f32]) -> bool {
        let Some(pieces) = self.pieces(word.as_bytes()) else {
            return false;
        };
        for piece in pieces {
            let scale = weight * f32::from_bits(number(self.scales, piece));
            let row = &self.rows[piece * self.dimensions..][..self.dimensions];
            for (sum, number) in sum.iter_mut().zip(row) {
                *sum += scale * f32::from(*number as i8);
            }
        }
        true
    }

    /// Splits a word greedily into its longest pieces, as WordPiece does. `None` when a letter is in no piece, and when most
    /// pieces are single letters.
    fn pieces(&self, word: &[u8]) -> Option<Vec<usize>> {
        if word.is_empty() || word.len() > WORD_BYTES_MAX {
            return None;
        }
        let mut pieces = Vec::new();
        let mut spelled = Vec::with_capacity(INSIDE.len() + word.len());
        let mut at = 0;
        while at < word.len() {
            spelled.clear();
            if at > 0 {
                spelled.extend_from_slice(INSIDE);
            }
            let mark = spelled.len();
            spelled.extend_from_slice(&word[at..]);
            let piece = loop {
                if spelled.len() == mark {
                    return None;
                }
                match self.piece(&spelled) {
                    Some(piece) => break piece,
                    None => spelled.pop(),
                };
            };
            at += spelled.len() - mark;
            pieces.push(piece);
        }
        // Words that split into letters are keys, misspellings or other languages, and their vectors would be noise.
        (pieces.len() == 1 || 2 * pieces.len() <= word.len()).then_some(pieces)
    }

    /// Finds the piece with exactly this text.
    fn piece(&self, text: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.ends.len() / 4);
        while low < high {
            let middle = low.midpoint(high);
            match self.text(middle).cmp(text) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn text(&self, piece: usize) -> &'static [u8] {
        let start = match piece {
            0 => 0,
            _ => number(self.ends, piece - 1) as usize,
        };
        &self.texts[start..number(self.ends, piece) as usize]
    }
}

/// The number at index `at` of little-endian `u32`s.
fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = &bytes[4 * at..][..4];
    u32::from_le_bytes(bytes.try_into().expect("four bytes were taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_in_order_and_at_most_eight_megabytes() {
        let table = EmbeddingTable::new();
        let pieces = table.ends.len() / 4;
        assert!(pieces > 20_000 && BYTES.len() <= 8_000_000, "{pieces}");
        assert_eq!(table.rows.len(), pieces * table.dimensions);
        assert!((1..pieces).all(|piece| table.text(piece - 1) < table.text(piece)));
        let scales = (0..pieces).map(|piece| f32::from_bits(number(table.scales, piece)));
        assert!(
            scales
                .into_iter()
                .all(|scale| scale.is_finite() && scale >= 0.0)
        );
    }

    #[test]
    fn words_are_spelled_by_the_longest_pieces_or_not_at_all() {
        let table = EmbeddingTable::new();
        let spelled = |word: &str| {
            let pieces = table.pieces(word.as_bytes())?;
            let texts = pieces.into_iter().map(|piece| table.text(piece));
            let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
            Some(texts.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(spelled("search").as_deref(), Some("search"));
        assert_eq!(spelled("kubernetes").as_deref(), Some("kubernetes"));
        assert_eq!(
            spelled("microservices").as_deref(),
            Some("micro ##ser ##vic ##es")
        );
        for none in ["", "größe", "zqxv"] {
            assert_eq!(spelled(none), None, "{none}");
        }
        assert_eq!(spelled(&"a".repeat(WORD_BYTES_MAX + 1)), None);
    }

    #[test]
    fn words_of_one_meaning_are_nearer_than_others() {
        let table = EmbeddingTable::new();
        let vector = |word: &str| {
            let mut sum = vec![0.0; table.dimensions()];
            assert!(table.add(word, 1.0, &mut sum), "{word}");
            sum
        };
        let similarity = |one: &str, other: &str| {
            let (one, other) = (vector(one), vector(other));
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
        };
        for (one, near, far) in [
            ("vacation", "holiday", "database"),
            ("folder", "directory", "song"),
            ("song", "music", "invoice"),
        ] {
            let (near, far) = (similarity(one, near), similarity(one, far));
            assert!(near > far + 0.2, "{one}: {near} {far}");
        }
    }
}
