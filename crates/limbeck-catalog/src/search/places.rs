//! Places in a ranking: which of very many are the best, without sorting all.

/// Where something stands in a ranking; the better of two is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The score as a number that is less the better the score is.
    worse: u64,
    /// Who comes first of those with one score.
    turn: u32,
    document: u32,
}

const SIGN: u64 = 1 << 63;

impl Place {
    const LAST: Self = Self {
        worse: u64::MAX,
        turn: u32::MAX,
        document: u32::MAX,
    };

    /// The place of `document`, whose turn among equals is that of `turns`.
    pub(super) fn new(score: f64, document: usize, turns: &[u32]) -> Self {
        // Bits in the order of `f64::total_cmp`: those of negative numbers are turned round.
        let bits = score.to_bits();
        let rising = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        Self {
            worse: !rising,
            turn: turns[document],
            document: document as u32,
        }
    }

    pub(super) fn score(self) -> f64 {
        let rising = !self.worse;
        let is_positive = rising & SIGN != 0;
        f64::from_bits(if is_positive { rising & !SIGN } else { !rising })
    }

    pub(super) fn document(self) -> usize {
        self.document as usize
    }
}

/// The best of the places offered, up to a number of them.
pub(super) struct Best {
    count: usize,
    kept: Vec<Place>,
    /// Whoever is not before this is not among the best.
    bar: Place,
}

/// Places kept beside the best, so that they are seldom told apart.
const SPARE_MIN: usize = 512;

impl Best {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            kept: Vec::new(),
            bar: Place::LAST,
        }
    }

    #[inline]
    pub(super) fn offer(&mut self, place: Place) {
        if place < self.bar {
            self.kept.push(place);
            if self.kept.len() >= self.count.saturating_add(self.count.max(SPARE_MIN)) {
                self.cut();
            }
        }
    }

    /// The best, best first.
    pub(super) fn into_sorted(mut self) -> Vec<Place> {
        self.cut();
        self.kept.sort_unstable();
        self.kept
    }

    fn cut(&mut self) {
        if self.kept.len() > self.count {
            let (_, next, _) = self.kept.select_nth_unstable(self.count);
            self.bar = *next;
            self.kept.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_in_the_order_of_scores_then_turns() {
        let turns = [1, 0, 2];
        let scores = [2.0, 1.0, 0.5, 0.0, -0.0, -1.0, -2.0];
        for pair in scores.windows(2) {
            assert!(Place::new(pair[0], 2, &turns) < Place::new(pair[1], 1, &turns));
        }
        assert!(Place::new(1.0, 1, &turns) < Place::new(1.0, 0, &turns));
        for score in scores {
            let place = Place::new(score, 2, &turns);
            assert_eq!(
                (place.score().to_bits(), place.document()),
                (score.to_bits(), 2)
            );
        }
    }

    proptest! {
        #[test]
        fn the_best_are_those_that_sorting_finds(
            scores in proptest::collection::vec(-20_i32..20, 0..3_000),
            count in prop_oneof![0..40_usize, Just(usize::MAX)],
        ) {
            let turns: Vec<u32> = (0..scores.len() as u32).rev().collect();
            let places = scores.iter().enumerate();
            let places = places.map(|(at, score)| Place::new(f64::from(*score), at, &turns));
            let mut best = Best::new(count);
            places.clone().for_each(|place| best.offer(place));
            let mut sorted: Vec<Place> = places.collect();
            sorted.sort_unstable();
            sorted.truncate(count);
            prop_assert_eq!(best.into_sorted(), sorted);
        }
    }
}
