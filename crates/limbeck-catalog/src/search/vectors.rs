//! Many vectors of length one, in eight bits a number, and which of them are like another.
//!
//! Most are not, and half of their numbers tell: what the second half adds is at most the product of both halves'
//! lengths (Cauchy and Schwarz). So the first halves lie together and are read for all, the second halves for
//! few. Sums are of integers, so the cosine is the same whether it was bounded first or not.

use std::ops::Range;

/// Numbers multiplied at a time: enough for the compiler to take the widest multiplications there are.
const LANES: usize = 32;

/// A vector to compare others with.
pub(super) struct Unit {
    /// Wider than they need, as the multiplication takes them.
    numbers: Vec<i16>,
    scale: f32,
}

/// Vectors in the order they were added. A vector of nothing is like no other.
#[derive(Debug)]
pub(super) struct Vectors {
    dimensions: usize,
    /// The first numbers of all, then the others of all.
    heads: Vec<i8>,
    tails: Vec<i8>,
    /// Lengths of the tails, rounded up.
    tail_lengths: Vec<u16>,
    scales: Vec<f32>,
}

impl Unit {
    /// `vector` with length one, rounded.
    pub(super) fn of(vector: &[f32]) -> Self {
        let length = vector
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        let largest = vector
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        if length <= f32::EPSILON || largest <= f32::EPSILON {
            return Self {
                numbers: vec![0; vector.len()],
                scale: 0.0,
            };
        }
        let to_byte = f32::from(i8::MAX) / largest;
        Self {
            // At most `i8::MAX` in size, by the choice of the scale.
            numbers: vector
                .iter()
                .map(|number| i16::from((number * to_byte).round() as i8))
                .collect(),
            scale: 1.0 / (to_byte * length),
        }
    }
}

impl Vectors {
    pub(super) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            heads: Vec::new(),
            tails: Vec::new(),
            tail_lengths: Vec::new(),
            scales: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, vector: &[f32]) {
        let Unit { numbers, scale } = Unit::of(vector);
        let (head, tail) = numbers.split_at(self.head());
        self.heads.extend(head.iter().map(|number| *number as i8));
        self.tails.extend(tail.iter().map(|number| *number as i8));
        self.tail_lengths.push(length(tail));
        self.scales.push(scale);
    }

    /// Numbers in a head: about half, in whole lanes.
    fn head(&self) -> usize {
        let half = self.dimensions.div_ceil(2).next_multiple_of(LANES);
        half.min(self.dimensions)
    }

    /// The cosine of each vector of `places` with `to`, in order.
    pub(super) fn cosines(&self, to: &Unit, places: Range<usize>) -> Vec<f32> {
        let mut cosines = Vec::with_capacity(places.len());
        self.each_like(to, places, f32::MIN, |_, cosine| {
            cosines.push(cosine);
            f32::MIN
        });
        cosines
    }

    /// Gives `found` each vector of `places` whose cosine with `to` is at least `min`, with that; what `found` gives
    /// back is the least from then on.
    pub(super) fn each_like(
        &self,
        to: &Unit,
        places: Range<usize>,
        mut min: f32,
        mut found: impl FnMut(usize, f32) -> f32,
    ) {
        let (to_head, to_tail) = to.numbers.split_at(self.head());
        let to_length = i32::from(length(to_tail));
        let heads = &self.heads[places.start * to_head.len()..places.end * to_head.len()];
        let of_each = heads
            .chunks_exact(to_head.len().max(1))
            .zip(&self.tail_lengths[places.clone()])
            .zip(&self.scales[places.clone()]);
        for (place, ((head, tail_length), scale)) in places.zip(of_each) {
            // Rounding keeps order, so what is not reached with the bound is not reached with the sum.
            let cosine = |sum: i32| sum as f32 * scale * to.scale;
            let sum = dot(head, to_head);
            if cosine(sum + i32::from(*tail_length) * to_length) < min {
                continue;
            }
            let tail = &self.tails[place * to_tail.len()..][..to_tail.len()];
            let cosine = cosine(sum + dot(tail, to_tail));
            if cosine >= min {
                min = found(place, cosine);
            }
        }
    }
}

/// Length of a vector, rounded up. Those of few thousand numbers, each of eight bits, fit.
fn length(numbers: &[i16]) -> u16 {
    let squares = numbers.iter().map(|number| i32::from(*number).pow(2));
    let squares: i32 = squares.sum();
    let length = squares.isqrt();
    (length + i32::from(length * length < squares)) as u16
}

/// Products of bytes fit 15 bits, so sums of a few hundred stay far from the ends of 32.
fn dot(one: &[i8], other: &[i16]) -> i32 {
    let products = |one: &[i8], other: &[i16]| {
        let products = one.iter().zip(other);
        let products = products.map(|(a, b)| i32::from(*a) * i32::from(*b));
        products.fold(0, i32::wrapping_add)
    };
    let (ones, one_rest) = one.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let sums = ones.iter().zip(others).map(|(a, b)| products(a, b));
    sums.fold(products(one_rest, other_rest), i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn like(vectors: &Vectors, to: &Unit, min: f32) -> Vec<(usize, f32)> {
        let mut found = Vec::new();
        vectors.each_like(to, 0..vectors.scales.len(), min, |place, cosine| {
            found.push((place, cosine));
            min
        });
        found
    }

    #[test]
    fn likeness_is_the_cosine_within_what_rounding_costs() {
        let mut vectors = Vectors::new(3);
        for vector in [[1.0, 0.0, 0.0], [3.0, 4.0, 0.0], [-0.1, 0.0, 0.0], [0.0; 3]] {
            vectors.push(&vector);
        }
        let found = like(&vectors, &Unit::of(&[2.0, 0.0, 0.0]), f32::MIN);
        assert_eq!(found.len(), 4);
        for ((_, found), cosine) in found.iter().zip([1.0, 0.6, -1.0, 0.0]) {
            assert!((found - cosine).abs() < 0.01, "{found} {cosine}");
        }
    }

    /// Numbers that fall, as those of the table do, so that bounds decide.
    fn vector() -> impl Strategy<Value = Vec<f32>> {
        proptest::collection::vec(-1.0_f32..1.0, 80).prop_map(|mut vector| {
            for (place, number) in vector.iter_mut().enumerate() {
                *number *= 0.95_f32.powi(place as i32);
            }
            vector
        })
    }

    proptest! {
        #[test]
        fn those_alike_are_the_ones_that_reach_the_least_without_bounds(
            all in proptest::collection::vec(vector(), 1..40),
            to in vector(),
            min in -1.0_f32..1.0,
        ) {
            let mut vectors = Vectors::new(80);
            all.iter().for_each(|vector| vectors.push(vector));
            let to = Unit::of(&to);
            let plain = all.iter().enumerate().map(|(place, vector)| {
                let unit = Unit::of(vector);
                let products = unit.numbers.iter().zip(&to.numbers);
                let sum: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                (place, sum as f32 * unit.scale * to.scale)
            });
            let plain: Vec<_> = plain.filter(|(_, cosine)| *cosine >= min).collect();
            prop_assert_eq!(like(&vectors, &to, min), plain);
        }
    }
}
