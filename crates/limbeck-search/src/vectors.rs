//! Unit vectors quantized to eight bits per number, and their cosine similarities.
//!
//! Most vectors are not similar to a given one, and their first halves suffice to tell: the second halves add at most the
//! product of their lengths (Cauchy and Schwarz). The first halves are stored together and read for all vectors, the second
//! halves for few. Sums are of integers, so the cosine is the same whether it was bounded first or not.

use std::ops::Range;

/// Numbers multiplied at a time, so that the compiler uses the widest vector instructions.
const LANES: usize = 32;

/// A vector to compare others with.
pub(crate) struct UnitVector {
    /// Values of eight bits, widened for the multiplication.
    numbers: Vec<i16>,
    scale: f32,
}

/// Unit vectors in the order they were added. A zero vector has the cosine 0 with all others.
#[derive(Debug)]
pub(crate) struct UnitVectors {
    dimensions: usize,
    /// First halves of all vectors, then second halves of all vectors.
    heads: Vec<i8>,
    tails: Vec<i8>,
    /// Lengths of `tails`, rounded up.
    tail_lengths: Vec<u16>,
    scales: Vec<f32>,
}

impl UnitVector {
    /// Normalizes `vector` to length one and rounds it.
    pub(crate) fn of(vector: &[f32]) -> Self {
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

impl UnitVectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            heads: Vec::new(),
            tails: Vec::new(),
            tail_lengths: Vec::new(),
            scales: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, vector: &[f32]) {
        let UnitVector { numbers, scale } = UnitVector::of(vector);
        let (head, tail) = numbers.split_at(self.head());
        self.heads.extend(head.iter().map(|number| *number as i8));
        self.tails.extend(tail.iter().map(|number| *number as i8));
        self.tail_lengths.push(length(tail));
        self.scales.push(scale);
    }

    /// Numbers in a first half, a multiple of [`LANES`].
    fn head(&self) -> usize {
        let half = self.dimensions.div_ceil(2).next_multiple_of(LANES);
        half.min(self.dimensions)
    }

    /// The cosine of each vector of the range `places` with `to`, in order.
    pub(crate) fn cosines(&self, to: &UnitVector, places: Range<usize>) -> Vec<f32> {
        let mut cosines = Vec::with_capacity(places.len());
        self.for_each_similar(to, places, f32::MIN, |_, cosine| {
            cosines.push(cosine);
            f32::MIN
        });
        cosines
    }

    /// The cosine of two of the vectors.
    pub(crate) fn cosine_between(&self, one: usize, other: usize) -> f32 {
        let head = self.head();
        let tail = self.dimensions - head;
        let product = |numbers: &[i8], length: usize| {
            let one = &numbers[one * length..][..length];
            let other = &numbers[other * length..][..length];
            let products = one.iter().zip(other);
            let products = products.map(|(a, b)| i32::from(*a) * i32::from(*b));
            products.fold(0, i32::wrapping_add)
        };
        let sum = product(&self.heads, head) + product(&self.tails, tail);
        sum as f32 * self.scales[one] * self.scales[other]
    }

    /// Calls `found` with each vector of the range `places` whose cosine with `to` is at least `min`, and with its cosine.
    /// `found` returns the new `min`.
    pub(crate) fn for_each_similar(
        &self,
        to: &UnitVector,
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

    fn like(vectors: &UnitVectors, to: &UnitVector, min: f32) -> Vec<(usize, f32)> {
        let mut found = Vec::new();
        vectors.for_each_similar(to, 0..vectors.scales.len(), min, |place, cosine| {
            found.push((place, cosine));
            min
        });
        found
    }

    #[test]
    fn likeness_is_the_cosine_within_what_rounding_costs() {
        let mut vectors = UnitVectors::new(3);
        for vector in [[1.0, 0.0, 0.0], [3.0, 4.0, 0.0], [-0.1, 0.0, 0.0], [0.0; 3]] {
            vectors.push(&vector);
        }
        let found = like(&vectors, &UnitVector::of(&[2.0, 0.0, 0.0]), f32::MIN);
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
            let mut vectors = UnitVectors::new(80);
            all.iter().for_each(|vector| vectors.push(vector));
            let to = UnitVector::of(&to);
            let plain = all.iter().enumerate().map(|(place, vector)| {
                let unit = UnitVector::of(vector);
                let products = unit.numbers.iter().zip(&to.numbers);
                let sum: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                (place, sum as f32 * unit.scale * to.scale)
            });
            let plain: Vec<_> = plain.filter(|(_, cosine)| *cosine >= min).collect();
            prop_assert_eq!(like(&vectors, &to, min), plain);
        }
    }
}
