//! Table of the blocks of 8 bytes at every fourth byte of each text.
//!
//! A part of 11 bytes or more that a text has in common with another contains such a block, wherever the part begins. The table has
//! positions alone; the blocks are compared in the texts. A block is kept four times at most, and a search for a place in
//! the table ends after [`PROBES_MAX`] steps, so that no text makes another take long.

/// Bytes of a block.
pub(super) const BLOCK: usize = 8;
/// Distance between blocks. `BLOCK + STRIDE - 1` is less than the shortest part that is reported.
const STRIDE: usize = 4;
/// Most bytes of the texts of a generation.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// Most texts of a generation, counting texts of one source that follow each other as one.
const PARTS_MAX: usize = 64 << 10;
/// Most positions kept of equal blocks.
const SAME_MAX: usize = 4;
/// Most places looked at for one block.
const PROBES_MAX: usize = 32;
/// Between texts. No UTF-8 has it, so no common part goes from one text to the next.
const SEPARATOR: u8 = 0xff;

/// Texts with their sources, and the table of their blocks.
pub(super) struct Generation<S> {
    text: Vec<u8>,
    /// Where the texts of a source begin, in the order of their positions.
    parts: Vec<(usize, S)>,
    /// Positions in `text` plus one; 0 for an empty place. The length is a power of two, or 0.
    table: Vec<u32>,
    used: usize,
}

impl<S> Default for Generation<S> {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            parts: Vec::new(),
            table: Vec::new(),
            used: 0,
        }
    }
}

/// A common part of a looked-up text and a text of a generation.
pub(super) struct Match<'a, S> {
    pub(super) source: &'a S,
    /// Where it ends in the looked-up text.
    pub(super) end: usize,
    pub(super) len: usize,
}

impl<S: Clone + PartialEq> Generation<S> {
    /// Whether a text of `bytes` fits. One that is longer than a generation fits into an empty one, and is cut.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.text.is_empty()
            || (self.text.len() + bytes < TEXT_BYTES_MAX && self.parts.len() < PARTS_MAX)
    }

    /// Adds a text. `hash` must be the same function in every call.
    pub(super) fn add(&mut self, source: &S, text: &str, hash: impl Fn(&[u8; BLOCK]) -> u64) {
        let text = text.as_bytes();
        let text = text.get(..TEXT_BYTES_MAX - 1).unwrap_or(text);
        let start = self.text.len();
        let needed = start + text.len() + 1;
        if self.text.capacity() < needed {
            let wanted = needed.saturating_mul(2).min(TEXT_BYTES_MAX).max(needed);
            self.text.reserve_exact(wanted - start);
        }
        self.text.extend_from_slice(text);
        self.text.push(SEPARATOR);
        if self.parts.last().is_none_or(|(_, last)| last != source) {
            self.parts.push((start, source.clone()));
        }
        let blocks = text.len().saturating_sub(BLOCK - 1).div_ceil(STRIDE);
        self.grow(blocks, &hash);
        for position in (start..).step_by(STRIDE).take(blocks) {
            self.insert(position, &hash);
        }
    }

    /// Makes the table twice as large as the positions that it will have.
    fn grow(&mut self, more: usize, hash: &impl Fn(&[u8; BLOCK]) -> u64) {
        let places = ((self.used + more) * 2).next_power_of_two();
        if places <= self.table.len() {
            return;
        }
        let old = std::mem::replace(&mut self.table, vec![0; places]);
        self.used = 0;
        for stored in old.into_iter().filter(|stored| *stored != 0) {
            self.insert(stored as usize - 1, hash);
        }
    }

    fn insert(&mut self, position: usize, hash: &impl Fn(&[u8; BLOCK]) -> u64) {
        let (Some(block), Ok(stored)) = (self.block(position), u32::try_from(position + 1)) else {
            return;
        };
        let block = *block;
        let mut same = 0;
        for place in places(hash(&block), self.table.len()) {
            match self.table.get(place).copied() {
                None => return,
                Some(0) => {
                    if let Some(place) = self.table.get_mut(place) {
                        *place = stored;
                        self.used += 1;
                    }
                    return;
                }
                Some(other) => {
                    same += usize::from(self.block(other as usize - 1) == Some(&block));
                    if same == SAME_MAX {
                        return;
                    }
                }
            }
        }
    }

    fn block(&self, position: usize) -> Option<&[u8; BLOCK]> {
        self.text.get(position..)?.first_chunk()
    }

    /// The longest part around the block at `at` of `text` that is in this generation too. `hash` is that of the block; the
    /// part begins at `from` or later.
    pub(super) fn longest(
        &self,
        hash: u64,
        text: &[u8],
        at: usize,
        from: usize,
    ) -> Option<Match<'_, S>> {
        let block = text.get(at..)?.first_chunk::<BLOCK>()?;
        let mut longest: Option<(usize, usize, usize)> = None;
        for place in places(hash, self.table.len()) {
            let position = match self.table.get(place) {
                None | Some(0) => break,
                Some(stored) => *stored as usize - 1,
            };
            if self.block(position) != Some(block) {
                continue;
            }
            let (before, end) = self.around(position, text, at, from);
            if longest.is_none_or(|(_, before_end, start)| end - (at - before) > before_end - start)
            {
                longest = Some((position, end, at - before));
            }
        }
        let (position, end, start) = longest?;
        let part = self.parts.partition_point(|(begin, _)| *begin <= position);
        let (_, source) = self.parts.get(part.checked_sub(1)?)?;
        let len = end - start;
        Some(Match { source, end, len })
    }

    /// How many bytes before `at` are the same, and where the common part ends in `text`.
    fn around(&self, position: usize, text: &[u8], at: usize, from: usize) -> (usize, usize) {
        // A part that begins further before had another block, and was found by it.
        let before_max = (at - from).min(BLOCK + STRIDE).min(position);
        let before = (1..=before_max)
            .take_while(|back| text.get(at - back) == self.text.get(position - back))
            .count();
        let behind = text.iter().skip(at).zip(self.text.iter().skip(position));
        let same = behind.take_while(|(one, other)| one == other).count();
        (before, at + same)
    }

    /// Bytes that are allocated.
    #[cfg(test)]
    pub(super) fn allocated(&self) -> usize {
        self.text.capacity()
            + self.table.capacity() * size_of::<u32>()
            + self.parts.capacity() * size_of::<(usize, S)>()
    }
}

/// Places of a table at which a block of this hash may be.
fn places(hash: u64, table_len: usize) -> impl Iterator<Item = usize> {
    let mask = table_len.wrapping_sub(1);
    // An empty table has no place: all are beyond its end.
    let first = usize::try_from(hash & 0xffff_ffff).unwrap_or(0);
    (0..PROBES_MAX.min(table_len)).map(move |step| first.wrapping_add(step) & mask)
}
