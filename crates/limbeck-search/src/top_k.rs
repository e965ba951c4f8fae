//! Selection of the best scores out of very many, without sorting all of them.

/// A document with its score. The better of two compares as less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScoredDocument {
    /// Bits of the score, mapped so that a better score is a smaller number.
    descending: u64,
    /// Order among documents with equal scores.
    tie_break: u32,
    document: u32,
}

const SIGN: u64 = 1 << 63;

impl ScoredDocument {
    const LAST: Self = Self {
        descending: u64::MAX,
        tie_break: u32::MAX,
        document: u32::MAX,
    };

    /// Documents with equal scores compare by `tie_breaks[document]`.
    pub(crate) fn new(score: f64, document: usize, tie_breaks: &[u32]) -> Self {
        // Integer comparison of `f64` bits is the order of `f64::total_cmp` once the sign bit of positive numbers is set
        // and all bits of negative ones are flipped.
        let bits = score.to_bits();
        let ascending = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        Self {
            descending: !ascending,
            tie_break: tie_breaks[document],
            document: document as u32,
        }
    }

    pub(crate) fn score(self) -> f64 {
        let ascending = !self.descending;
        let is_positive = ascending & SIGN != 0;
        f64::from_bits(if is_positive {
            ascending & !SIGN
        } else {
            !ascending
        })
    }

    pub(crate) fn document(self) -> usize {
        self.document as usize
    }
}

/// The best `count` of the documents offered.
pub(crate) struct TopK {
    count: usize,
    kept: Vec<ScoredDocument>,
    /// Score of the first document beyond `count` at the last cut; anything not better is discarded.
    threshold: ScoredDocument,
}

/// Documents kept beyond `count`, so that a cut is rare.
const SPARE_MIN: usize = 512;

impl TopK {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            count,
            kept: Vec::new(),
            threshold: ScoredDocument::LAST,
        }
    }

    #[inline]
    pub(crate) fn offer(&mut self, candidate: ScoredDocument) {
        if candidate < self.threshold {
            self.kept.push(candidate);
            if self.kept.len() >= self.count.saturating_add(self.count.max(SPARE_MIN)) {
                self.cut();
            }
        }
    }

    /// The best documents, best first.
    pub(crate) fn into_sorted(mut self) -> Vec<ScoredDocument> {
        self.cut();
        self.kept.sort_unstable();
        self.kept
    }

    fn cut(&mut self) {
        if self.kept.len() > self.count {
            let (_, next, _) = self.kept.select_nth_unstable(self.count);
            self.threshold = *next;
            self.kept.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn documents_are_ordered_by_score_then_by_tie_break() {
        let tie_breaks = [1, 0, 2];
        let scores = [2.0, 1.0, 0.5, 0.0, -0.0, -1.0, -2.0];
        for pair in scores.windows(2) {
            assert!(
                ScoredDocument::new(pair[0], 2, &tie_breaks)
                    < ScoredDocument::new(pair[1], 1, &tie_breaks)
            );
        }
        assert!(
            ScoredDocument::new(1.0, 1, &tie_breaks) < ScoredDocument::new(1.0, 0, &tie_breaks)
        );
        for score in scores {
            let place = ScoredDocument::new(score, 2, &tie_breaks);
            assert_eq!(
                (place.score().to_bits(), place.document()),
                (score.to_bits(), 2)
            );
        }
    }

    proptest! {
        #[test]
        fn top_k_keeps_the_documents_that_a_full_sort_puts_first(
            scores in proptest::collection::vec(-20_i32..20, 0..3_000),
            count in prop_oneof![0..40_usize, Just(usize::MAX)],
        ) {
            let tie_breaks: Vec<u32> = (0..scores.len() as u32).rev().collect();
            let places = scores.iter().enumerate();
            let places = places.map(|(at, score)| ScoredDocument::new(f64::from(*score), at, &tie_breaks));
            let mut best = TopK::new(count);
            places.clone().for_each(|place| best.offer(place));
            let mut sorted: Vec<ScoredDocument> = places.collect();
            sorted.sort_unstable();
            sorted.truncate(count);
            prop_assert_eq!(best.into_sorted(), sorted);
        }
    }
}
