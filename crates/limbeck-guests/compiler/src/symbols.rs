//! Removal of symbols from machine code.

/// Size of a section header of ELF with 64 bits.
const HEADER_BYTES: usize = 64;
/// Type of the section with the symbols.
const SYMBOL_TABLE: usize = 2;
/// Offsets in the file header: where the section headers begin, how many there are, which one has their names.
const HEADERS_AT: usize = 0x28;
const HEADER_COUNT_AT: usize = 0x3c;
const NAMES_INDEX_AT: usize = 0x3e;
/// Offsets in a section header.
const TYPE_AT: usize = 4;
const OFFSET_AT: usize = 24;
const SIZE_AT: usize = 32;

/// Removes the symbols from `elf`, as Wasmtime writes it: the table of symbols, their names and the names of sections
/// are the last three sections, and the section headers follow. The engine finds functions by tables of its own;
/// only debuggers and profilers read symbols, and Python's have 1.5 MB.
///
/// # Panics
///
/// When the file is not laid out so, as a later release of Wasmtime may do it.
pub(crate) fn without_symbols(elf: &[u8]) -> Vec<u8> {
    let headers_at = number(elf, HEADERS_AT, 8);
    let count = number(elf, HEADER_COUNT_AT, 2);
    assert_eq!(
        number(elf, NAMES_INDEX_AT, 2),
        count - 1,
        "the names of sections are the last section"
    );
    let header = |index: usize| &elf[headers_at + index * HEADER_BYTES..][..HEADER_BYTES];
    let place = |index: usize| {
        let header = header(index);
        (number(header, OFFSET_AT, 8), number(header, SIZE_AT, 8))
    };
    assert_eq!(
        number(header(count - 3), TYPE_AT, 4),
        SYMBOL_TABLE,
        "the table of symbols is the third section from the end"
    );
    let (symbols_at, _) = place(count - 3);
    let (names_at, names_bytes) = place(count - 1);
    assert!(
        (0..count - 3).all(|index| place(index).0 <= symbols_at),
        "nothing that is kept lies behind the symbols"
    );

    let mut stripped = elf[..symbols_at].to_vec();
    let names_moved_to = stripped.len();
    stripped.extend_from_slice(&elf[names_at..][..names_bytes]);
    stripped.resize(stripped.len().next_multiple_of(8), 0);
    let headers_moved_to = stripped.len();
    stripped.extend_from_slice(&elf[headers_at..][..(count - 3) * HEADER_BYTES]);
    stripped.extend_from_slice(header(count - 1));
    let names_header = headers_moved_to + (count - 3) * HEADER_BYTES;
    put(&mut stripped, names_header + OFFSET_AT, names_moved_to, 8);
    put(&mut stripped, HEADERS_AT, headers_moved_to, 8);
    put(&mut stripped, HEADER_COUNT_AT, count - 2, 2);
    put(&mut stripped, NAMES_INDEX_AT, count - 3, 2);
    stripped
}

/// The number in `width` bytes at `at`, the lowest byte first.
fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let mut whole = [0; 8];
    whole[..width].copy_from_slice(&bytes[at..at + width]);
    usize::from_le_bytes(whole)
}

fn put(bytes: &mut [u8], at: usize, value: usize, width: usize) {
    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
}
