//! Many vectors of length one, in eight bits a number, and how alike they are.

/// One of them, or one to compare them with.
pub(super) struct Unit {
    numbers: Vec<i8>,
    scale: f32,
}

/// Vectors in the order they were added. A vector of nothing is like no other.
#[derive(Debug)]
pub(super) struct Vectors {
    dimensions: usize,
    numbers: Vec<i8>,
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
                .map(|number| (number * to_byte).round() as i8)
                .collect(),
            scale: 1.0 / (to_byte * length),
        }
    }
}

impl Vectors {
    pub(super) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            numbers: Vec::new(),
            scales: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, vector: &[f32]) {
        let Unit { numbers, scale } = Unit::of(vector);
        self.numbers.extend(numbers);
        self.scales.push(scale);
    }

    /// The cosine between `to` and each vector, in order.
    pub(super) fn likeness<'v>(&'v self, to: &'v Unit) -> impl Iterator<Item = f32> + 'v {
        let rows = self.numbers.chunks_exact(self.dimensions);
        rows.zip(&self.scales)
            .map(|(row, scale)| dot(row, &to.numbers) as f32 * scale * to.scale)
    }
}

/// Products of bytes fit 15 bits, so sums of a few hundred stay far from the ends of 32.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    let products = one
        .iter()
        .zip(other)
        .map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b)));
    products.fold(0, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_the_cosine_within_what_rounding_costs() {
        let mut vectors = Vectors::new(3);
        for vector in [[1.0, 0.0, 0.0], [3.0, 4.0, 0.0], [-0.1, 0.0, 0.0], [0.0; 3]] {
            vectors.push(&vector);
        }
        let found: Vec<f32> = vectors.likeness(&Unit::of(&[2.0, 0.0, 0.0])).collect();
        for (found, cosine) in found.iter().zip([1.0, 0.6, -1.0, 0.0]) {
            assert!((found - cosine).abs() < 0.01, "{found} {cosine}");
        }
    }
}
